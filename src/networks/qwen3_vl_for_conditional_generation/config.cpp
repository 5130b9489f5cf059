#include "networks/qwen3_vl_for_conditional_generation/config.hpp"

#include <cmath>

#include "nn/decoder_config.hpp"

namespace omnirt {
namespace {

// rope_parameters, or rope_scaling as version 4 of transformers called it.
struct Qwen3VLRope {
  std::optional<double> rope_theta;
  std::optional<std::vector<int64_t>> mrope_section;

  static void visit(auto& self, auto& v) {
    v("rope_theta", self.rope_theta);
    v("mrope_section", self.mrope_section);
    v.only("mrope_interleaved", {true});
    v.only("rope_type", {"default"});
    v.only("type", {"default"});
  }
};

// The whole config's own fields.
struct Qwen3VLOuterConfig {
  static void visit(auto&, auto& v) {
    nn::ignore_transformers_notes(v);
    v.ignore({"text_config", "vision_config", "image_token_id", "video_token_id",
              "vision_start_token_id", "vision_end_token_id", "eos_token_id"});
  }
};

void read_qwen3_vl_rope(Qwen3VLTextConfig& config, const Json& json, const std::string& where) {
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    if (!json.contains(name) || json[name].is_null()) continue;
    auto rope = read_config<Qwen3VLRope>(json[name], where + "." + name);
    config.rope_theta = rope.rope_theta.value_or(config.rope_theta);
    if (rope.mrope_section) config.mrope_section = *rope.mrope_section;
  }
}

void check_qwen3_vl_text(nn::ConfigCheck& check, const Qwen3VLTextConfig& config) {
  check.one_of("hidden_act", config.hidden_act,
               {"silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh", "quick_gelu", "relu"});
  nn::check_decoder_sizes(check, config);
  check.expect(config.mrope_section.size() == 3, "mrope_section",
               std::to_string(config.mrope_section.size()) + " numbers",
               "pairs that turn by time, row and column are three numbers");
  for (int64_t pairs : config.mrope_section) check.range("mrope_section", pairs, 0, 1 << 12);
}

struct Qwen3VLVisionRope {
  std::optional<double> rope_theta;

  static void visit(auto& self, auto& v) {
    v("rope_theta", self.rope_theta);
    v.only("rope_type", {"axial"});
  }
};

void check_qwen3_vl_vision(nn::ConfigCheck& check, const Qwen3VLVisionConfig& config,
                           int64_t text_width, int64_t text_layers) {
  check.one_of("hidden_act", config.hidden_act,
               {"silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh", "quick_gelu", "relu"});
  check.range("depth", config.depth, 1, 256);
  check.range("hidden_size", config.hidden_size, 1, 1 << 14);
  check.range("intermediate_size", config.intermediate_size, 1, 1 << 18);
  check.range("num_heads", config.num_heads, 1, 1 << 8);
  check.range("in_channels", config.in_channels, 3, 3);
  check.range("patch_size", config.patch_size, 1, 256);
  check.range("spatial_merge_size", config.spatial_merge_size, 1, 16);
  check.range("temporal_patch_size", config.temporal_patch_size, 1, 16);
  check.range("num_position_embeddings", config.num_position_embeddings, 1, 1 << 20);
  check.range("deepstack_visual_indexes", std::ssize(config.deepstack_visual_indexes), 0,
              text_layers);
  // What follows computes with the sizes before it.
  if (!check.ok()) return;
  for (int64_t layer : config.deepstack_visual_indexes)
    check.range("deepstack_visual_indexes", layer, 0, config.depth - 1);
  check.divisible("hidden_size", config.hidden_size, "num_heads", config.num_heads);
  check.divisible("hidden_size", config.head_dim(), "rows' and columns' pairs", 4);
  check.expect(config.grid_side() * config.grid_side() == config.num_position_embeddings,
               "num_position_embeddings", std::to_string(config.num_position_embeddings),
               "they are a square grid's");
  check.expect(config.out_hidden_size == text_width, "out_hidden_size",
               std::to_string(config.out_hidden_size),
               "the language model's tokens are of another width");
}

Qwen3VLVisionConfig read_qwen3_vl_vision(const Json& json, const std::string& where,
                                         const Qwen3VLTextConfig& text) {
  auto config = read_config<Qwen3VLVisionConfig>(json, where);
  if (json.contains("rope_parameters") && !json["rope_parameters"].is_null())
    config.rope_theta =
        read_config<Qwen3VLVisionRope>(json["rope_parameters"], where + ".rope_parameters")
            .rope_theta;
  nn::ConfigCheck check(where);
  check_qwen3_vl_vision(check, config, text.hidden_size, text.num_hidden_layers);
  check.finish();
  return config;
}

}  // namespace

int64_t Qwen3VLVisionConfig::grid_side() const {
  return std::lround(std::sqrt(static_cast<double>(num_position_embeddings)));
}

nn::TextDecoderOptions Qwen3VLTextConfig::options() const {
  return {.hidden_size = hidden_size,
          .intermediate_size = intermediate_size,
          .layers = num_hidden_layers,
          .heads = num_attention_heads,
          .kv_heads = num_key_value_heads.value_or(num_attention_heads),
          .head_dim = head_dim,
          .norm_eps = rms_norm_eps,
          .rope_theta = rope_theta,
          .attention_bias = attention_bias,
          .output_bias = attention_bias,
          .activation = ops::activation_from_name(hidden_act, "hidden_act")};
}

Qwen3VLConfig read_qwen3_vl_config(const Json& json, const std::string& where) {
  read_config<Qwen3VLOuterConfig>(json, where);
  Qwen3VLConfig config;
  const Json none = Json::object();
  const bool given = json.contains("text_config") && !json["text_config"].is_null();
  const Json& text = given ? json["text_config"] : none;
  const std::string text_where = where + ".text_config";
  config.text = read_config<Qwen3VLTextConfig>(text, text_where);
  read_qwen3_vl_rope(config.text, text, text_where);
  nn::ConfigCheck check(text_where);
  check_qwen3_vl_text(check, config.text);
  check.finish();
  if (json.contains("vision_config") && !json["vision_config"].is_null())
    config.vision =
        read_qwen3_vl_vision(json["vision_config"], where + ".vision_config", config.text);
  if (json.contains("image_token_id") && json["image_token_id"].is_number_integer())
    config.image_token_id = json["image_token_id"].get<int64_t>();
  return config;
}

}  // namespace omnirt
