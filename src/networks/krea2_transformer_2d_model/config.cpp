#include "networks/krea2_transformer_2d_model/config.hpp"

#include "nn/config_check.hpp"

namespace omnirt {
namespace {

constexpr int64_t most_krea2_values = 1 << 18;

// Heads of queries, and those of keys and values that they share.
void check_krea2_heads(nn::ConfigCheck& check, const std::string& prefix, int64_t heads,
                       int64_t kv_heads) {
  check.range(prefix + "num_attention_heads", heads, 1, 1 << 12);
  check.range(prefix + "num_key_value_heads", kv_heads, 1, 1 << 12);
  if (!check.ok()) return;
  check.divisible(prefix + "num_attention_heads", heads, "num_key_value_heads", kv_heads);
}

}  // namespace

Krea2Transformer2DConfig read_krea2_transformer_2d_config(const Json& json,
                                                          const std::string& where) {
  auto config = read_config<Krea2Transformer2DConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("in_channels", config.in_channels, 1, 1 << 14);
  check.range("num_layers", config.num_layers, 1, 256);
  check.range("attention_head_dim", config.attention_head_dim, 2, 1 << 12);
  check.range("intermediate_size", config.intermediate_size, 1, most_krea2_values);
  check.range("timestep_embed_dim", config.timestep_embed_dim, 2, 1 << 14);
  check.range("text_hidden_dim", config.text_hidden_dim, 1, 1 << 16);
  check.range("num_text_layers", config.num_text_layers, 1, 64);
  check.range("text_intermediate_size", config.text_intermediate_size, 1, most_krea2_values);
  check.range("num_layerwise_text_blocks", config.num_layerwise_text_blocks, 0, 64);
  check.range("num_refiner_text_blocks", config.num_refiner_text_blocks, 0, 64);
  check.positive("rope_theta", config.rope_theta);
  check.positive("norm_eps", config.norm_eps);
  check_krea2_heads(check, "", config.num_attention_heads, config.num_key_value_heads);
  check_krea2_heads(check, "text_", config.text_num_attention_heads,
                    config.text_num_key_value_heads);
  if (check.ok()) {
    check.divisible("in_channels", config.in_channels, "the latents of a token",
                    Krea2Transformer2DConfig::latents_of_a_token);
    check.divisible("timestep_embed_dim", config.timestep_embed_dim, "cosines and sines", 2);
    check.divisible("text_hidden_dim", config.text_hidden_dim, "text_num_attention_heads",
                    config.text_num_attention_heads);
    check.range("num_attention_heads", config.inner_dim(), 1, 1 << 16);
  }
  check.rotary_axes("axes_dims_rope", config.axes_dims_rope, 3, 2, config.attention_head_dim);
  check.finish();
  return config;
}

}  // namespace omnirt
