#include "networks/clip_text_model/model.hpp"

#include <ATen/ops/aminmax.h>
#include <fmt/format.h>

#include "networks/clip_text_model/original_config.hpp"
#include "networks/clip_text_model/original_layouts.hpp"
#include "nn/feature_metadata.hpp"

namespace omnirt {

CLIPTextModel::CLIPTextModel(const CLIPTextConfig& config, Json json)
    : Network(std::move(json)),
      embeddings(this, "embeddings", config),
      encoder(this, "encoder", encoder_options(config)),
      final_layer_norm(this, "final_layer_norm", config.hidden_size, config.layer_norm_eps),
      config_(config) {}

CLIPTextModel::CLIPTextModel(const CLIPTextConfig& config, Json json, const char* tower)
    : Network(std::move(json)),
      tower_(std::in_place, this, tower),
      embeddings(&*tower_, "embeddings", config),
      encoder(&*tower_, "encoder", encoder_options(config)),
      final_layer_norm(&*tower_, "final_layer_norm", config.hidden_size, config.layer_norm_eps),
      text_projection(std::in_place, this, "text_projection", config.hidden_size,
                      config.projection_dim, /*with_bias=*/false),
      config_(config) {}

nn::Metadata CLIPTextModel::metadata() const {
  return nn::feature_metadata(*this,
                              {.no_split_modules = {"CLIPTextEmbeddings", "CLIPEncoderLayer"},
                               .repeated_blocks = {"CLIPEncoderLayer"}});
}

std::vector<nn::OriginalLayout> CLIPTextModel::original_layouts() const {
  std::string body = tower_ ? tower_->path() : "";
  return {clip_layout(body), open_clip_layout(body), stacked_clip_layout(body)};
}

nn::AdapterNames CLIPTextModel::adapter_names() const {
  return {.prefixes = {"text_model."},
          .old_names = {{"q_proj", "to_q"},
                        {"k_proj", "to_k"},
                        {"v_proj", "to_v"},
                        {"out_proj", "to_out"}},
          .numbered_classes = {{"CLIPAttention", "CLIPAttention"},
                               {"CLIPMLP", "CLIPMLP", /*by_default=*/false}},
          .token_table = embeddings.token_embedding.weight.name};
}

nn::WeightMap CLIPTextModel::weight_map() const {
  // transformers 5 writes names without the prefix that all published checkpoints have. The
  // positions are a buffer that older versions saved; files for ComfyUI keep the projection.
  return {.renames = {{"text_model.", "", /*at_start=*/true}},
          .ignored = {"text_model.embeddings.position_ids", "embeddings.position_ids",
                      "text_projection.weight"}};
}

nn::WeightMap CLIPTextModelWithProjection::weight_map() const {
  return {.renames = {}, .ignored = {"text_model.embeddings.position_ids"}};
}

void CLIPTextModel::check(Context& cx, const Tensor& input_ids,
                          const CLIPTextOptions& options) const {
  std::vector<Finding> findings;
  if (options.clip_skip < 0 || options.clip_skip > num_layers()) {
    findings.push_back({"clip_skip", std::to_string(options.clip_skip),
                        fmt::format("the text encoder has {} layers", num_layers()),
                        fmt::format("choose 0..{}", num_layers())});
  }
  if (input_ids.size(1) > max_tokens()) {
    findings.push_back({"input_ids", fmt::format("{} tokens", input_ids.size(1)),
                        fmt::format("the text encoder takes at most {}", max_tokens()),
                        "cut the prompt"});
  }
  // Values are checked where that does not wait for a device.
  if (!cx.dry() && input_ids.is_cpu() && input_ids.numel() > 0) {
    auto [lowest, highest] = at::aminmax(input_ids);
    int64_t low = lowest.item<int64_t>(), high = highest.item<int64_t>();
    // The table has more rows than the config says where adapters brought tokens.
    int64_t rows = cx.as_encoded(embeddings.token_embedding.weight).size(0);
    if (low < 0 || high >= rows) {
      findings.push_back({"input_ids", fmt::format("{}", low < 0 ? low : high),
                          fmt::format("the text encoder's vocabulary has {} entries", rows),
                          "use the tokenizer that belongs to this text encoder"});
    }
  }
  if (!findings.empty()) throw InvalidRequest(std::move(findings));
}

CLIPTextOutput CLIPTextModel::forward(Context& cx, const Tensor& input_ids,
                                      const CLIPTextOptions& options) const {
  check(cx, input_ids, options);
  CLIPTextOutput output;
  Tensor h = embeddings.forward(cx, input_ids);
  auto wanted = static_cast<size_t>(num_layers() - options.clip_skip);
  bool all = options.hidden_states || options.pooled;
  Tensor chosen = h, bias;
  if (options.mask) bias = cx.ops().key_mask(cx, {*options.mask, cx.dtype()});
  for (size_t i = 0; i <= encoder.layers.size(); ++i) {
    if (options.hidden_states) output.hidden_states.push_back(h);
    if (i == wanted) chosen = h;
    if (i == encoder.layers.size() || (i == wanted && !all)) break;
    h = encoder.layers[i].forward(cx, h, options.mask ? &bias : nullptr);
  }
  output.last_hidden_state = options.normalize ? final_layer_norm.forward(cx, chosen) : chosen;
  if (!options.pooled) return output;
  bool is_last = options.clip_skip == 0 && options.normalize;
  Tensor last = is_last ? output.last_hidden_state : final_layer_norm.forward(cx, h);
  // Configs of the time before the end token was written right say 2, whatever it is.
  int64_t end = config_.eos_token_id.value_or(2);
  output.pooled = cx.ops().state_at_token(cx, {last, input_ids, end, end == 2});
  if (text_projection) output.text_embeds = text_projection->forward(cx, output.pooled);
  return output;
}

const nn::NetworkInfo& clip_text_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "CLIPTextModel",
      .make = nn::network_of<CLIPTextModel, read_clip_text_config>,
      .summary = "the text encoder of CLIP",
      .weights_base = "model",
      .role = "text_encoder",
      .from_tensors =
          {.signs = "a text encoder of CLIP (text_model.encoder.layers.* or "
                    "transformer.resblocks.*)",
           .config = clip_text_config_alone,
           .layout = clip_text_layout_of,
           .prefixes = {"", "cond_stage_model.transformer.", "cond_stage_model.model.",
                        "conditioner.embedders.0.transformer.", "conditioner.embedders.0.model.",
                        "conditioner.embedders.1.model.", "text_encoders.clip_l.transformer.",
                        "text_encoders.clip_g.transformer."},
           // OpenCLIP's layouts have OpenCLIP's activation; transformers' names are used for both.
           .from_model = {"hidden_act"},
           .only_own_names = true},
      .published_prefix = "text_model.",
  };
  return info;
}

const nn::NetworkInfo& clip_text_model_with_projection_info() {
  static const nn::NetworkInfo info{
      .class_name = "CLIPTextModelWithProjection",
      .make = nn::network_of<CLIPTextModelWithProjection, read_clip_text_config>,
      .summary = "the text encoder of CLIP, with a projection of the whole prompt",
      .weights_base = "model",
      .role = "text_encoder",
  };
  return info;
}

}  // namespace omnirt
