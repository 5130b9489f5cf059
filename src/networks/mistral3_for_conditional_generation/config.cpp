#include "networks/mistral3_for_conditional_generation/config.hpp"

#include "base/whole_number.hpp"
#include "nn/decoder_config.hpp"

namespace omnirt {
namespace {

constexpr int64_t longest_prompt = 4096;  // the most that max_sequence_length may be

// A config without a text_config is Mistral Small 3.1's (transformers Mistral3Config).
const Json& small_3_1() {
  static const Json config = {
      {"vocab_size", 131072},     {"hidden_size", 5120},       {"intermediate_size", 32768},
      {"num_hidden_layers", 40},  {"num_attention_heads", 32}, {"num_key_value_heads", 8},
      {"head_dim", 128},          {"rms_norm_eps", 1e-5},      {"rope_theta", 1e9},
      {"sliding_window", nullptr}};
  return config;
}

void check_mistral3(nn::ConfigCheck& check, const Mistral3TextConfig& config) {
  check.one_of("hidden_act", config.hidden_act,
               {"silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh", "quick_gelu", "relu"});
  nn::check_decoder_sizes(check, config);
  for (const std::string& kind : config.layer_types)
    check.one_of("layer_types", kind, {"full_attention"});
  const int64_t window = config.sliding_window.value_or(longest_prompt);
  check.expect(window >= longest_prompt, "sliding_window", std::to_string(window),
               "windows shorter than the longest prompt, " + std::to_string(longest_prompt) +
                   " tokens, are not implemented",
               "use a model without one");
}

int64_t vision_layers_of(const Json& json, const std::string& where, int64_t usual) {
  if (!json.contains("vision_config") || json["vision_config"].is_null()) return usual;
  const Json& vision = json["vision_config"];
  if (!vision.is_object() || !vision.contains("num_hidden_layers")) return usual;
  const Json& layers = vision["num_hidden_layers"];
  nn::ConfigCheck check(where + ".vision_config");
  const int64_t count = whole_number(layers, 0, 256).value_or(-1);
  check.range("num_hidden_layers", count, 0, 256);
  check.finish();
  return count;
}

}  // namespace

nn::TextDecoderOptions Mistral3TextConfig::options() const {
  return {.hidden_size = hidden_size,
          .intermediate_size = intermediate_size,
          .layers = num_hidden_layers,
          .heads = num_attention_heads,
          .kv_heads = num_key_value_heads.value_or(num_attention_heads),
          .head_dim = head_dim.value_or(hidden_size / num_attention_heads),
          .norm_eps = rms_norm_eps,
          .rope_theta = rope_theta,
          .head_norms = false,
          .final_norm = final_norm,
          .activation = ops::activation_from_name(hidden_act, "hidden_act")};
}

Mistral3Config read_mistral3_config(const Json& json, const std::string& where) {
  auto config = read_config<Mistral3Config>(json, where);
  const bool given = json.contains("text_config") && !json["text_config"].is_null();
  const Json& text = given ? json["text_config"] : small_3_1();
  const std::string text_where = where + ".text_config";
  config.text = read_config<Mistral3TextConfig>(text, text_where);
  config.text.rope_theta = nn::read_rope_theta(text, text_where, config.text.rope_theta);
  config.vision_layers = vision_layers_of(json, where, config.vision_layers);
  nn::ConfigCheck check(text_where);
  check_mistral3(check, config.text);
  check.finish();
  return config;
}

}  // namespace omnirt
