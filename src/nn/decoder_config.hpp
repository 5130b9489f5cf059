#pragma once
#include <string>

#include "base/json.hpp"
#include "nn/blocks/text_decoder.hpp"
#include "nn/config_check.hpp"

// What the configs of language models have in common that encode prompts.
namespace omnirt::nn {

// rope_theta of rope_parameters, or of rope_scaling as version 4 of transformers called it; else
// `of_its_own`, the config's field. Throws Unsupported for other kinds of positions than the plain.
double read_rope_theta(const Json& config, const std::string& where, double of_its_own);

// Findings for sizes that do not go together, of a config with Llama's fields and `options()`.
template <class Config>
void check_decoder_sizes(ConfigCheck& check, const Config& config) {
  constexpr int64_t most_values = 1 << 18;
  check.range("vocab_size", config.vocab_size, 1, 1 << 24);
  check.range("hidden_size", config.hidden_size, 1, 1 << 16);
  check.range("intermediate_size", config.intermediate_size, 1, most_values);
  check.range("num_hidden_layers", config.num_hidden_layers, 1, 256);
  check.range("num_attention_heads", config.num_attention_heads, 1, 1 << 12);
  check.positive("rms_norm_eps", config.rms_norm_eps);
  check.positive("rope_theta", config.rope_theta);
  if (!check.ok()) return;
  const TextDecoderOptions options = config.options();
  check.range("num_key_value_heads", options.kv_heads, 1, options.heads);
  if (options.kv_heads >= 1)
    check.divisible("num_attention_heads", options.heads, "num_key_value_heads", options.kv_heads);
  check.range("head_dim", options.head_dim, 2, most_values / options.heads);
  check.divisible("head_dim", options.head_dim, "the two halves that turn", 2);
}

}  // namespace omnirt::nn
