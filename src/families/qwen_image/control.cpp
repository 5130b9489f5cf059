#include "families/qwen_image/control.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>

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

EncodeMaskedControl::EncodeMaskedControl(size_t place)
    : Block(numbered("encode_masked_control", place), Stage::prepare_latents, Guidance::shared,
            has_component(numbered("controlnet", place)) && blocks::control_reads_mask(place)),
      control(this, blocks::control_values_name(place), blocks::control_values_help,
              blocks::control_values_shape()) {}

void EncodeMaskedControl::run(Frame& frame) const {
  const Tensor pixels = blocks::image_tensor(frame[image], frame[width], frame[height]);
  const Tensor masked = at::where(frame[mask_pixels] > 0.5, repainted, pixels);
  const auto shape = blocks::latent_shape(frame[vae], 1, frame[width], frame[height]);
  std::vector<Tensor> draws;
  for (uint64_t seed : frame[seeds]) draws.push_back(Noise({&seed, 1}).randn(shape));
  const Tensor latents = blocks::encoded_image(frame, vae, tiling, masked, at::cat(draws));
  const Tensor kept =
      (1 - frame[mask_latents]).expand({latents.size(0), 1, latents.size(2), latents.size(3)});
  frame[control] = Value(at::cat({latents, kept}, 1), Life::run);
}

}  // namespace omnirt::qwen_image
