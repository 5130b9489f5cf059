#include "networks/siglip2_vision_model/model.hpp"

#include "nn/blocks/clip_encoder.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {

Siglip2VisionEmbeddings::Siglip2VisionEmbeddings(Module* parent, const std::string& name,
                                                 const Siglip2VisionConfig& config)
    : Module(parent, name),
      patch_embedding(this, "patch_embedding",
                      config.num_channels * config.patch_size * config.patch_size,
                      config.hidden_size),
      position_embedding(this, "position_embedding", config.num_patches, config.hidden_size) {}

Tensor Siglip2VisionEmbeddings::forward(Context& cx, const Siglip2Image& image) const {
  Tensor tokens = patch_embedding.forward(cx, nn::in_form(cx, image.patches));
  return nn::with_grid_positions(cx, tokens, position_embedding, image.at);
}

Siglip2VisionModel::Siglip2VisionModel(const Siglip2VisionConfig& config, Json json)
    : Network(std::move(json)),
      embeddings(this, "embeddings", config),
      encoder(this, "encoder", nn::clip_encoder_options(config, /*causal=*/false)),
      post_layernorm(this, "post_layernorm", config.hidden_size, config.layer_norm_eps),
      config_(config) {}

nn::Metadata Siglip2VisionModel::metadata() const {
  return nn::feature_metadata(*this,
                              {.no_split_modules = {"Siglip2VisionEmbeddings", "CLIPEncoderLayer"},
                               .repeated_blocks = {"CLIPEncoderLayer"}});
}

Tensor Siglip2VisionModel::forward(Context& cx, const Siglip2Image& image) const {
  Tensor h = embeddings.forward(cx, image);
  for (size_t i = 0; i < encoder.layers.size(); ++i) h = encoder.layers[i].forward(cx, h);
  return post_layernorm.forward(cx, h);
}

const nn::NetworkInfo& siglip2_vision_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "Siglip2VisionModel",
      .make = nn::network_of<Siglip2VisionModel, read_siglip2_vision_config>,
      .summary = "the image encoder of SigLIP2",
      .weights_base = "model",
      .role = "image_encoder"};
  return info;
}

}  // namespace omnirt
