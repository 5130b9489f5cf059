#include "networks/clip_vision_model/model.hpp"

#include <fmt/format.h>

#include "nn/blocks/clip_encoder.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {

int64_t patches(const CLIPVisionConfig& config) {
  int64_t side = config.image_size / config.patch_size;
  return side * side;
}

nn::Conv2dOptions patch_options(const CLIPVisionConfig& config) {
  return {.kernel = config.patch_size,
          .stride = config.patch_size,
          .padding = {0, 0, 0, 0},
          .bias = false};
}

nn::NetworkInfo info_of(const char* class_name, CLIPVisionModel::Projection projection) {
  return {.class_name = class_name,
          .make = [projection](const Json& json,
                               const std::string& where) -> std::unique_ptr<nn::Network> {
            return std::make_unique<CLIPVisionModel>(read_clip_vision_config(json, where),
                                                     projection, json);
          },
          .summary = "the image encoder of CLIP",
          .weights_base = "model",
          .role = "image_encoder"};
}

}  // namespace

CLIPVisionEmbeddings::CLIPVisionEmbeddings(Module* parent, const std::string& name,
                                           const CLIPVisionConfig& config)
    : Module(parent, name),
      class_embedding(param("class_embedding", {config.hidden_size})),
      patch_embedding(this, "patch_embedding", config.num_channels, config.hidden_size,
                      patch_options(config)),
      position_embedding(this, "position_embedding", 1 + patches(config), config.hidden_size) {
  own(class_embedding);
}

Tensor CLIPVisionEmbeddings::forward(Context& cx, const Tensor& pixel_values) const {
  Tensor tokens = nn::tokens_of(patch_embedding.forward(cx, pixel_values));
  Tensor whole = cx[class_embedding].to(cx.dtype()).expand({tokens.size(0), 1, tokens.size(2)});
  return cx.ops().add(cx, {cx.ops().concat(cx, {whole, tokens}), cx[position_embedding.weight]});
}

CLIPVisionModel::CLIPVisionModel(const CLIPVisionConfig& config, Projection projection, Json json)
    : Network(std::move(json)),
      embeddings(this, "embeddings", config),
      pre_layrnorm(this, "pre_layrnorm", config.hidden_size, config.layer_norm_eps),
      encoder(this, "encoder", nn::clip_encoder_options(config, /*causal=*/false)),
      post_layernorm(this, "post_layernorm", config.hidden_size, config.layer_norm_eps),
      config_(config) {
  if (projection == Projection::without) return;
  visual_projection.emplace(this, "visual_projection", config.hidden_size, config.projection_dim,
                            /*with_bias=*/false);
}

const char* CLIPVisionModel::class_name() const {
  return visual_projection ? "CLIPVisionModelWithProjection" : "CLIPVisionModel";
}

nn::Metadata CLIPVisionModel::metadata() const {
  return nn::feature_metadata(*this,
                              {.no_split_modules = {"CLIPVisionEmbeddings", "CLIPEncoderLayer"},
                               .repeated_blocks = {"CLIPEncoderLayer"}});
}

nn::WeightMap CLIPVisionModel::weight_map() const {
  // As CLIPTextModel: a prefix that transformers 5 may leave out, a buffer that older versions
  // saved. The reference of both classes is one tree here, so the prefix is always removed.
  return {.renames = {{"vision_model.", "", /*at_start=*/true}},
          .ignored = {"vision_model.embeddings.position_ids", "embeddings.position_ids"}};
}

Tensor CLIPVisionModel::embedded(Context& cx, const Tensor& pixel_values) const {
  int64_t side = config_.image_size;
  if (pixel_values.size(2) != side || pixel_values.size(3) != side) {
    throw InvalidRequest(Finding{"pixel_values",
                                 fmt::format("{}x{}", pixel_values.size(3), pixel_values.size(2)),
                                 fmt::format("the image encoder takes {0}x{0}", side),
                                 "use the feature extractor that belongs to this image encoder"});
  }
  return pre_layrnorm.forward(cx, embeddings.forward(cx, nn::in_form(cx, pixel_values)));
}

CLIPVisionOutput CLIPVisionModel::forward(Context& cx, const Tensor& pixel_values,
                                          const CLIPVisionOptions& options) const {
  CLIPVisionOutput output;
  Tensor h = embedded(cx, pixel_values);
  for (size_t i = 0; i < encoder.layers.size(); ++i) {
    if (options.hidden_states) output.hidden_states.push_back(h);
    h = encoder.layers[i].forward(cx, h);
  }
  if (options.hidden_states) output.hidden_states.push_back(h);
  output.last_hidden_state = h;
  output.pooled = post_layernorm.forward(cx, h.select(1, 0).contiguous());
  if (visual_projection) output.image_embeds = visual_projection->forward(cx, output.pooled);
  return output;
}

Tensor CLIPVisionModel::penultimate(Context& cx, const Tensor& pixel_values) const {
  Tensor h = embedded(cx, pixel_values);
  for (size_t i = 0; i + 1 < encoder.layers.size(); ++i) h = encoder.layers[i].forward(cx, h);
  return h;
}

const nn::NetworkInfo& clip_vision_model_info() {
  static const nn::NetworkInfo info =
      info_of("CLIPVisionModel", CLIPVisionModel::Projection::without);
  return info;
}

const nn::NetworkInfo& clip_vision_model_with_projection_info() {
  static const nn::NetworkInfo info =
      info_of("CLIPVisionModelWithProjection", CLIPVisionModel::Projection::with);
  return info;
}

}  // namespace omnirt
