#include "networks/qwen3_for_causal_lm/config.hpp"

#include "nn/decoder_config.hpp"

namespace omnirt {
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
  config.rope_theta = nn::read_rope_theta(json, where, config.rope_theta);
  nn::ConfigCheck check(where);
  check.one_of("hidden_act", config.hidden_act,
               {"silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh", "quick_gelu", "relu"});
  nn::check_decoder_sizes(check, config);
  for (const std::string& kind : config.layer_types)
    check.one_of("layer_types", kind, {"full_attention"});
  check.finish();
  return config;
}

}  // namespace omnirt
