#include "networks/qwen3_for_causal_lm/config.hpp"

#include "nn/config_check.hpp"

namespace omnirt {
namespace {

// rope_parameters, or rope_scaling as version 4 of transformers called it.
struct RopeParameters {
  std::optional<double> rope_theta;

  static void visit(auto& self, auto& v) {
    v("rope_theta", self.rope_theta);
    v.only("rope_type", {"default"});
    v.only("type", {"default"});  // its name before transformers 4.45
  }
};

void read_rope(Qwen3Config& config, const Json& json, const std::string& where) {
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    if (!json.contains(name) || json[name].is_null()) continue;
    auto rope = read_config<RopeParameters>(json[name], where + "." + name);
    config.rope_theta = rope.rope_theta.value_or(config.rope_theta);
  }
}

void check_sizes(nn::ConfigCheck& check, const Qwen3Config& config) {
  constexpr int64_t most_values = 1 << 18;
  check.range("vocab_size", config.vocab_size, 1, 1 << 24);
  check.range("hidden_size", config.hidden_size, 1, 1 << 16);
  check.range("intermediate_size", config.intermediate_size, 1, most_values);
  check.range("num_hidden_layers", config.num_hidden_layers, 1, 256);
  check.range("num_attention_heads", config.num_attention_heads, 1, 1 << 12);
  if (!check.ok()) return;
  const nn::TextDecoderOptions options = config.options();
  check.range("num_key_value_heads", options.kv_heads, 1, options.heads);
  if (options.kv_heads >= 1)
    check.divisible("num_attention_heads", options.heads, "num_key_value_heads", options.kv_heads);
  check.range("head_dim", options.head_dim, 2, most_values / options.heads);
  check.divisible("head_dim", options.head_dim, "the two halves that turn", 2);
}

}  // namespace

nn::TextDecoderOptions Qwen3Config::options() const {
  return {.hidden_size = hidden_size,
          .intermediate_size = intermediate_size,
          .layers = num_hidden_layers,
          .heads = num_attention_heads,
          .kv_heads = num_key_value_heads.value_or(num_attention_heads),
          .head_dim = head_dim.value_or(hidden_size / num_attention_heads),
          .norm_eps = rms_norm_eps,
          .rope_theta = rope_theta,
          .attention_bias = attention_bias,
          .output_bias = attention_bias,
          .activation = ops::activation_from_name(hidden_act, "hidden_act")};
}

Qwen3Config read_qwen3_config(const Json& json, const std::string& where) {
  auto config = read_config<Qwen3Config>(json, where);
  read_rope(config, json, where);
  nn::ConfigCheck check(where);
  check.one_of("hidden_act", config.hidden_act,
               {"silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh", "quick_gelu", "relu"});
  check_sizes(check, config);
  check.positive("rms_norm_eps", config.rms_norm_eps);
  check.positive("rope_theta", config.rope_theta);
  for (const std::string& kind : config.layer_types)
    check.one_of("layer_types", kind, {"full_attention"});
  check.finish();
  return config;
}

}  // namespace omnirt
