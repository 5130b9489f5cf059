#include "networks/qwen3_vl_for_conditional_generation/config.hpp"

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
}

// How many layers the vision tower has, and how many of them deepstack taps.
void read_qwen3_vl_tower(Qwen3VLConfig& config, const Json& json, const std::string& where) {
  if (!json.contains("vision_config") || !json["vision_config"].is_object()) return;
  const Json& vision = json["vision_config"];
  nn::ConfigCheck check(where + ".vision_config");
  if (vision.contains("depth"))
    config.vision_layers =
        vision["depth"].is_number_integer() ? vision["depth"].get<int64_t>() : -1;
  check.range("depth", config.vision_layers, 0, 256);
  if (vision.contains("deepstack_visual_indexes"))
    config.vision_taps = static_cast<int64_t>(vision["deepstack_visual_indexes"].size());
  check.range("deepstack_visual_indexes", config.vision_taps, 0, 256);
  check.finish();
}

}  // namespace

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
  read_qwen3_vl_tower(config, json, where);
  nn::ConfigCheck check(text_where);
  check_qwen3_vl_text(check, config.text);
  check.finish();
  return config;
}

}  // namespace omnirt
