#include "networks/gemma2_model/config.hpp"

#include <fmt/format.h>

#include <cmath>

#include "nn/decoder_config.hpp"

namespace omnirt {
namespace {

constexpr const char* sliding = "sliding_attention";

// Of each layer, how many keys a query sees; 0: all before it.
std::vector<int64_t> windows_of(const Gemma2Config& config) {
  std::vector<int64_t> windows;
  for (size_t i = 0; i < static_cast<size_t>(config.num_hidden_layers); ++i) {
    const bool slides = config.layer_types.empty() ? i % 2 == 0 : config.layer_types[i] == sliding;
    windows.push_back(slides ? config.sliding_window.value_or(0) : 0);
  }
  return windows;
}

}  // namespace

nn::TextDecoderOptions Gemma2Config::options() const {
  return {.hidden_size = hidden_size,
          .intermediate_size = intermediate_size,
          .layers = num_hidden_layers,
          .heads = num_attention_heads,
          .kv_heads = num_key_value_heads,
          .head_dim = head_dim,
          .norm_eps = rms_norm_eps,
          .rope_theta = rope_theta,
          .attention_bias = attention_bias,
          .output_bias = attention_bias,
          .head_norms = false,
          .activation = ops::activation_from_name(hidden_activation, "hidden_activation"),
          .score_scale = 1.0 / std::sqrt(query_pre_attn_scalar),
          .soft_cap = attn_logit_softcapping.value_or(0.0),
          .windows = windows_of(*this),
          .norms_after = true,
          .norms_from_one = true,
          .embedding_scale = std::sqrt(static_cast<double>(hidden_size))};
}

Gemma2Config read_gemma2_config(const Json& json, const std::string& where) {
  auto config = read_config<Gemma2Config>(json, where);
  config.rope_theta = nn::read_rope_theta(json, where, config.rope_theta);
  nn::ConfigCheck check(where);
  check.one_of("hidden_activation", config.hidden_activation,
               {"silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh", "quick_gelu", "relu"});
  check.range("num_hidden_layers", config.num_hidden_layers, 1, 256);
  check.positive("query_pre_attn_scalar", config.query_pre_attn_scalar);
  if (config.attn_logit_softcapping)
    check.positive("attn_logit_softcapping", *config.attn_logit_softcapping);
  if (config.sliding_window) check.range("sliding_window", *config.sliding_window, 1, 1 << 24);
  for (const std::string& kind : config.layer_types)
    check.one_of("layer_types", kind, {"full_attention", sliding});
  const auto layers = static_cast<int64_t>(config.layer_types.size());
  check.expect(layers == 0 || layers == config.num_hidden_layers, "layer_types",
               fmt::format("{} values", layers),
               fmt::format("there are {} layers", config.num_hidden_layers));
  if (check.ok()) nn::check_decoder_sizes(check, config);
  check.finish();
  return config;
}

}  // namespace omnirt
