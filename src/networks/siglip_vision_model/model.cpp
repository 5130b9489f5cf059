#include "networks/siglip_vision_model/model.hpp"

#include <fmt/format.h>

#include "nn/blocks/clip_encoder.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {

int64_t siglip_patches(const SiglipVisionConfig& config) {
  int64_t side = config.image_size / config.patch_size;
  return side * side;
}

}  // namespace

SiglipVisionEmbeddings::SiglipVisionEmbeddings(Module* parent, const std::string& name,
                                               const SiglipVisionConfig& config)
    : Module(parent, name),
      patch_embedding(this, "patch_embedding", config.num_channels, config.hidden_size,
                      {.kernel = config.patch_size,
                       .stride = config.patch_size,
                       .padding = {0, 0, 0, 0},
                       .bias = true}),
      position_embedding(this, "position_embedding", siglip_patches(config), config.hidden_size) {}

Tensor SiglipVisionEmbeddings::forward(Context& cx, const Tensor& pixel_values) const {
  Tensor tokens = nn::tokens_of(patch_embedding.forward(cx, pixel_values));
  return cx.ops().add(cx, {tokens, cx[position_embedding.weight]});
}

SiglipVisionModel::SiglipVisionModel(const SiglipVisionConfig& config, Json json)
    : Network(std::move(json)),
      embeddings(this, "embeddings", config),
      encoder(this, "encoder", nn::clip_encoder_options(config, /*causal=*/false)),
      post_layernorm(this, "post_layernorm", config.hidden_size, config.layer_norm_eps),
      config_(config) {}

nn::Metadata SiglipVisionModel::metadata() const {
  return nn::feature_metadata(*this,
                              {.no_split_modules = {"SiglipVisionEmbeddings", "CLIPEncoderLayer"},
                               .repeated_blocks = {"CLIPEncoderLayer"}});
}

Tensor SiglipVisionModel::forward(Context& cx, const Tensor& pixel_values) const {
  int64_t side = config_.image_size;
  if (pixel_values.size(2) != side || pixel_values.size(3) != side) {
    throw InvalidRequest(Finding{"pixel_values",
                                 fmt::format("{}x{}", pixel_values.size(3), pixel_values.size(2)),
                                 fmt::format("the image encoder takes {0}x{0}", side),
                                 "use the feature extractor that belongs to this image encoder"});
  }
  Tensor h = embeddings.forward(cx, nn::in_form(cx, pixel_values));
  for (size_t i = 0; i < encoder.layers.size(); ++i) h = encoder.layers[i].forward(cx, h);
  return post_layernorm.forward(cx, h);
}

const nn::NetworkInfo& siglip_vision_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "SiglipVisionModel",
      .make = nn::network_of<SiglipVisionModel, read_siglip_vision_config>,
      .summary = "the image encoder of SigLIP",
      .weights_base = "model",
      .role = "image_encoder"};
  return info;
}

}  // namespace omnirt
