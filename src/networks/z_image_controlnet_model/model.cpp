#include "networks/z_image_controlnet_model/model.hpp"

#include <algorithm>

#include "nn/denoiser_network.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"
#include "nn/run_blocks.hpp"

namespace omnirt {
namespace {

using Blocks = nn::ModuleList<ZImageControlTransformerBlock>;

// The first hints by the transformer's blocks; empty ones where a block gets none.
std::vector<Value> by_block(const std::vector<Tensor>& hints, const std::vector<int64_t>& places) {
  std::vector<Value> all;
  for (size_t i = 0; i < places.size(); ++i) {
    while (static_cast<int64_t>(all.size()) < places[i]) all.emplace_back(hints[i].narrow(1, 0, 0));
    all.emplace_back(hints[i]);
  }
  return all;
}

struct Tokens {
  const Tensor &image, &rotary, &embedded;
};

// What blocks make of the control image's tokens, and their hints.
Tensor looked_through(Context& cx, const Blocks& blocks, Tensor control, const Tokens& at,
                      std::vector<Tensor>& hints) {
  return nn::run_blocks(cx, blocks, std::move(control), [&](size_t i, const Tensor& x) {
    auto looked = blocks[i].look(cx, x, at.image, at.rotary, at.embedded);
    if (looked.hint.defined()) hints.push_back(std::move(looked.hint));
    return looked.control;
  });
}

}  // namespace

ZImageControlTransformerBlock::ZImageControlTransformerBlock(
    Module* parent, const std::string& name, const ZImageTransformer2DConfig& config, Parts parts)
    : ZImageTransformerBlock(parent, name, config, /*modulated=*/true) {
  if (parts.takes_image) before_proj.emplace(this, "before_proj", config.dim, config.dim);
  if (parts.hints) after_proj.emplace(this, "after_proj", config.dim, config.dim);
}

ZImageControlTransformerBlock::Looked ZImageControlTransformerBlock::look(
    Context& cx, const Tensor& control, const Tensor& image, const Tensor& rotary,
    const Tensor& embedded) const {
  Looked made;
  Tensor c = before_proj ? cx.ops().add(cx, {before_proj->forward(cx, control), image}) : control;
  made.control = forward(cx, c, rotary, embedded);
  if (after_proj) made.hint = after_proj->forward(cx, made.control);
  return made;
}

ZImageControlNetModel::ZImageControlNetModel(const ZImageControlNetConfig& config, Json json)
    : Network(std::move(json)),
      control_layers(this, "control_layers"),
      control_all_x_embedder(this, "control_all_x_embedder", config.patch_channels(),
                             config.blocks.dim),
      control_noise_refiner(this, "control_noise_refiner"),
      config_(config) {
  auto add = [&](Blocks& blocks, size_t count, bool hints) {
    for (size_t i = 0; i < count; ++i)
      blocks.add(config_.blocks, ZImageControlTransformerBlock::Parts{
                                     .takes_image = hints && i == 0, .hints = hints});
  };
  add(control_layers, config_.control_layers_places.size(), true);
  if (config_.refiner() != ZImageControlRefiner::control_layers)
    add(control_noise_refiner, static_cast<size_t>(config_.blocks.n_refiner_layers),
        config_.refiner() == ZImageControlRefiner::its_own);
}

nn::Metadata ZImageControlNetModel::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {"ZImageControlTransformerBlock"},
                                      .repeated_blocks = {"ZImageControlTransformerBlock"}});
}

int64_t ZImageControlNetModel::least_layers() const {
  return config_.control_layers_places.back() + 1;
}

int64_t ZImageControlNetModel::least_refiner_layers() const {
  const auto places = config_.refiner_places();
  return places.empty() ? 0 : places.back() + 1;
}

// Filled up with what the image's own tokens are filled up with.
Tensor ZImageControlNetModel::control_tokens(Context& cx, const Values& inputs) const {
  const Tensor &given = one(inputs, "controlnet_cond"), &image = one(inputs, "image");
  Tensor made = cx.once(control_all_x_embedder.path(), given, [&] {
    return control_all_x_embedder.layer.forward(
        cx, nn::patch_tokens(nn::in_form(cx, given), ZImageTransformer2DConfig::patch_size));
  });
  made = made.expand({image.size(0), made.size(1), made.size(2)});
  const int64_t more = image.size(1) - made.size(1);
  if (more == 0) return made;
  Tensor padding = nn::in_form(cx, image).narrow(1, made.size(1), more);
  return cx.ops().concat(cx, {made, padding});
}

Values ZImageControlNetModel::refine(Context& cx, const Values& inputs) const {
  const Tensor image = nn::in_form(cx, one(inputs, "image"));
  const Tensor embedded = nn::in_form(cx, one(inputs, "embedded"));
  const Tokens at{image, one(inputs, "image_rotary"), embedded};
  const bool shared = config_.refiner() == ZImageControlRefiner::control_layers;
  std::vector<Tensor> hints;
  Tensor context = looked_through(cx, shared ? control_layers : control_noise_refiner,
                                  control_tokens(cx, inputs), at, hints);
  Values made{{"context", {context}}};
  const std::vector<int64_t> places = config_.refiner_places();
  if (!places.empty()) made["hints"] = by_block(hints, places);
  return made;
}

Values ZImageControlNetModel::control(Context& cx, const Values& inputs) const {
  const Tensor text = nn::in_form(cx, one(inputs, "text"));
  auto with_text = [&](const char* name) {
    Tensor tokens = nn::in_form(cx, one(inputs, name));
    return cx.ops().concat(cx, {tokens, text});
  };
  const Tensor image = with_text("image"), embedded = nn::in_form(cx, one(inputs, "embedded"));
  std::vector<Tensor> hints;
  looked_through(cx, control_layers, with_text("context"), {image, one(inputs, "rotary"), embedded},
                 hints);
  return {{"controlnet_block_samples", by_block(hints, config_.control_layers_places)}};
}

const nn::NetworkInfo& z_image_controlnet_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "ZImageControlNetModel",
      .make = nn::network_of<ZImageControlNetModel, read_z_image_controlnet_config>,
      .summary = "a control image's way into Z-Image's transformer",
      .weights_base = "diffusion_pytorch_model",
      .role = "controlnet",
  };
  return info;
}

}  // namespace omnirt
