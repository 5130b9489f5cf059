#include "networks/qwen2_5_vl_for_conditional_generation/config.hpp"

#include "nn/config_check.hpp"

namespace omnirt {
namespace {

constexpr int64_t most_values = 1 << 18;

// rope_parameters, or rope_scaling as version 4 of transformers called it.
struct Qwen25VLRope {
  std::optional<double> rope_theta;
  std::vector<int64_t> mrope_section;

  static void visit(auto& self, auto& v) {
    v("rope_theta", self.rope_theta);
    v("mrope_section", self.mrope_section);
    v.only("rope_type", {"default", "mrope"});
    v.only("type", {"default", "mrope"});
  }
};

void read_rope(Qwen25VLTextConfig& config, const Json& json, const std::string& where) {
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    if (!json.contains(name) || json[name].is_null()) continue;
    auto rope = read_config<Qwen25VLRope>(json[name], where + "." + name);
    config.rope_theta = rope.rope_theta.value_or(config.rope_theta);
    if (!rope.mrope_section.empty()) config.mrope_section = rope.mrope_section;
  }
}

void check_text(nn::ConfigCheck& check, const Qwen25VLTextConfig& config) {
  check.one_of("hidden_act", config.hidden_act, {"silu"});
  check.range("vocab_size", config.vocab_size, 1, 1 << 24);
  check.range("hidden_size", config.hidden_size, 1, 1 << 16);
  check.range("intermediate_size", config.intermediate_size, 1, most_values);
  check.range("num_hidden_layers", config.num_hidden_layers, 1, 256);
  check.range("num_attention_heads", config.num_attention_heads, 1, 1 << 12);
  check.positive("rms_norm_eps", config.rms_norm_eps);
  check.positive("rope_theta", config.rope_theta);
  for (const std::string& kind : config.layer_types)
    check.one_of("layer_types", kind, {"full_attention"});
  if (!check.ok()) return;
  const nn::TextDecoderOptions options = config.options();
  check.divisible("hidden_size", config.hidden_size, "num_attention_heads", options.heads);
  check.range("num_key_value_heads", options.kv_heads, 1, options.heads);
  if (options.kv_heads >= 1)
    check.divisible("num_attention_heads", options.heads, "num_key_value_heads", options.kv_heads);
  check.divisible("hidden_size", options.head_dim, "the two halves of a head that turn", 2);
}

void check_vision(nn::ConfigCheck& check, const Qwen25VLVisionConfig& config, int64_t text_width) {
  check.one_of("vision_config.hidden_act", config.hidden_act, {"silu"});
  check.range("vision_config.depth", config.depth, 1, 256);
  check.range("vision_config.hidden_size", config.hidden_size, 1, 1 << 14);
  check.range("vision_config.intermediate_size", config.intermediate_size, 1, most_values);
  check.range("vision_config.num_heads", config.num_heads, 1, 1 << 8);
  check.range("vision_config.in_channels", config.in_channels, 3, 3);
  check.range("vision_config.patch_size", config.patch_size, 1, 256);
  check.range("vision_config.spatial_merge_size", config.spatial_merge_size, 1, 16);
  check.range("vision_config.temporal_patch_size", config.temporal_patch_size, 1, 16);
  check.range("vision_config.window_size", config.window_size, 1, 1 << 14);
  if (!check.ok()) return;
  check.divisible("vision_config.hidden_size", config.hidden_size, "num_heads", config.num_heads);
  check.divisible("vision_config.hidden_size", config.head_dim(), "rows' and columns' pairs", 4);
  check.expect(config.out_hidden_size == text_width, "vision_config.out_hidden_size",
               std::to_string(config.out_hidden_size),
               "the language model's tokens are of another width");
}

}  // namespace

nn::TextDecoderOptions Qwen25VLTextConfig::options() const {
  return {.hidden_size = hidden_size,
          .intermediate_size = intermediate_size,
          .layers = num_hidden_layers,
          .heads = num_attention_heads,
          .kv_heads = num_key_value_heads.value_or(num_attention_heads),
          .head_dim = hidden_size / num_attention_heads,
          .norm_eps = rms_norm_eps,
          .rope_theta = rope_theta,
          .attention_bias = true,
          .head_norms = false,
          .activation = ops::Activation::silu};
}

Qwen25VLConfig read_qwen2_5_vl_config(const Json& json, const std::string& where) {
  Qwen25VLConfig config;
  const bool nested = json.contains("text_config") && json["text_config"].is_object();
  const Json& text = nested ? json["text_config"] : json;
  const std::string text_where = nested ? where + ".text_config" : where;
  config.text = read_config<Qwen25VLTextConfig>(text, text_where);
  read_rope(config.text, text, text_where);
  if (json.contains("vision_config") && !json["vision_config"].is_null())
    config.vision =
        read_config<Qwen25VLVisionConfig>(json["vision_config"], where + ".vision_config");
  auto token = [&](const char* name, int64_t& id) {
    if (json.contains(name) && json[name].is_number_integer()) id = json[name].get<int64_t>();
  };
  token("image_token_id", config.image_token_id);
  token("vision_start_token_id", config.vision_start_token_id);
  nn::ConfigCheck check(where);
  check_text(check, config.text);
  if (config.vision) check_vision(check, *config.vision, config.text.hidden_size);
  check.finish();
  return config;
}

}  // namespace omnirt
