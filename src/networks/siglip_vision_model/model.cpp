#include "networks/siglip_vision_model/model.hpp"

#include <fmt/format.h>

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {

int64_t siglip_patches(const SiglipVisionConfig& config) {
  int64_t side = config.image_size / config.patch_size;
  return side * side;
}

nn::CLIPEncoderOptions siglip_encoder_options(const SiglipVisionConfig& config) {
  return {.hidden_size = config.hidden_size,
          .intermediate_size = config.intermediate_size,
          .layers = config.num_hidden_layers,
          .heads = config.num_attention_heads,
          .activation = ops::activation_from_name(config.hidden_act, "hidden_act"),
          .layer_norm_eps = config.layer_norm_eps,
          .causal = false};
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
      encoder(this, "encoder", siglip_encoder_options(config)),
      post_layernorm(this, "post_layernorm", config.hidden_size, config.layer_norm_eps),
      config_(config) {}

nn::Metadata SiglipVisionModel::metadata() const {
  return nn::feature_metadata(*this,
                              {.no_split_modules = {"SiglipVisionEmbeddings", "CLIPEncoderLayer"},
                               .repeated_blocks = {"CLIPEncoderLayer"}});
}

nn::WeightMap SiglipVisionModel::weight_map() const {
  nn::WeightMap map{.renames = {{"vision_model.", "", /*at_start=*/true}}, .ignored = {}};
  for (const char* name :
       {"probe", "attention.in_proj_weight", "attention.in_proj_bias", "attention.out_proj.weight",
        "attention.out_proj.bias", "layernorm.weight", "layernorm.bias", "mlp.fc1.weight",
        "mlp.fc1.bias", "mlp.fc2.weight", "mlp.fc2.bias"}) {
    map.ignored.push_back(std::string("head.") + name);
    map.ignored.push_back(std::string("vision_model.head.") + name);
  }
  return map;
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
      .make = [](const Json& json, const std::string& where) -> std::unique_ptr<nn::Network> {
        return std::make_unique<SiglipVisionModel>(read_siglip_vision_config(json, where), json);
      },
      .summary = "the image encoder of SigLIP",
      .weights_base = "model",
      .role = "image_encoder"};
  return info;
}

}  // namespace omnirt
