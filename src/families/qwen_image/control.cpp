#include "families/qwen_image/control.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "blocks/control_values.hpp"
#include "blocks/latents.hpp"
#include "pipeline/numbered.hpp"

namespace omnirt::qwen_image {
namespace {

constexpr double repainted = -1.0;  // black

}  // namespace

Trigger any_control_reads_mask() {
  Trigger any = blocks::control_reads_mask(0);
  for (size_t i = 1; i < blocks::most_controls; ++i) any = any || blocks::control_reads_mask(i);
  return any;
}

Trigger any_control_feeds_back() {
  Trigger any = blocks::control_feeds_back(0);
  for (size_t i = 1; i < blocks::most_controls; ++i) any = any || blocks::control_feeds_back(i);
  return any;
}

EncodeMaskedControl::EncodeMaskedControl(size_t place)
    : Block(numbered("encode_masked_control", place), Stage::prepare_latents, Guidance::shared,
            has_component(numbered("controlnet", place)) && blocks::control_reads_mask(place)),
      controlnet(this, numbered("controlnet", place)),
      control(this, blocks::control_values_name(place), blocks::control_values_help,
              blocks::control_values_shape()) {}

void EncodeMaskedControl::run(Frame& frame) const {
  const Tensor pixels = blocks::image_tensor(frame[image], frame[width], frame[height]);
  const Tensor masked = at::where(frame[mask_pixels] > 0.5, repainted, pixels);
  const auto shape = blocks::latent_shape(frame[vae], 1, frame[width], frame[height]);
  std::vector<Tensor> draws;
  if (frame[controlnet].feeds_back())
    draws.push_back(at::zeros(shape));
  else
    for (uint64_t seed : frame[seeds]) draws.push_back(Noise({&seed, 1}).randn(shape));
  const Tensor latents = blocks::encoded_image(frame, vae, tiling, masked, at::cat(draws));
  const Tensor kept =
      (1 - frame[mask_latents]).expand({latents.size(0), 1, latents.size(2), latents.size(3)});
  frame[control] = Value(at::cat({latents, kept}, 1), Life::run);
}

BlockByBlock::BlockByBlock()
    : StepBlock("block_by_block", Stage::denoise_loop, Guidance::shared, any_control_feeds_back()) {
}

void BlockByBlock::before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const {
  if (batch.hints.empty()) return;
  const std::string sites = batch.sites ? batch.sites->key() : "";
  auto call = [&](const std::string& variant, const Values& inputs, auto&& body) {
    return frame.call(transformer, inputs, body,
                      ComponentCall{.variant = variant + sites,
                                    .body = {},
                                    .rows = batch.rows,
                                    .step = {.index = at.step},
                                    .sites = batch.sites.get()},
                      batch.network);
  };
  using Network = QwenImageTransformer2DModel;
  Values state = call(
      "begin", batch.inputs,
      [](const Network& network, Context& cx, const Values& in) { return network.begin(cx, in); });
  const size_t blocks = frame.stand_in(transformer, batch.network).transformer_blocks.size();
  for (size_t block = 0; block < blocks; ++block) {
    const Values made = call(fmt::format("block {}", block), state,
                             [block](const Network& network, Context& cx, const Values& in) {
                               return network.through(cx, in, block);
                             });
    state["text"] = made.at("text");
    Tensor image = one(made, "image");
    for (const BlockHint& hint : batch.hints) image = image + hint(block, made.at("image").front());
    state["image"] = {image};
  }
  batch.inputs["made_by_blocks"] = state.at("image");
}

}  // namespace omnirt::qwen_image
