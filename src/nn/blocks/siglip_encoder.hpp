#pragma once
#include "nn/config_check.hpp"
#include "nn/network.hpp"

// What SigLIP's and SigLIP2's image encoders have in common: CLIP's layers, and a head that pools,
// which no one here asks for (transformers modeling_siglip.py, modeling_siglip2.py).
namespace omnirt::nn {

template <class Config>
void check_siglip_layers(ConfigCheck& check, const Config& config) {
  check.range("hidden_size", config.hidden_size, 1, 1 << 16);
  check.range("intermediate_size", config.intermediate_size, 1, 1 << 18);
  check.range("num_hidden_layers", config.num_hidden_layers, 0, 256);
  check.range("num_attention_heads", config.num_attention_heads, 1, 1 << 12);
  check.range("num_channels", config.num_channels, 3, 3);
  check.range("patch_size", config.patch_size, 1, 1 << 10);
  check.positive("layer_norm_eps", config.layer_norm_eps);
  check.one_of("hidden_act", config.hidden_act,
               {"quick_gelu", "gelu", "gelu_new", "gelu_pytorch_tanh", "silu", "swish", "relu"});
  if (check.ok()) {
    check.divisible("hidden_size", config.hidden_size, "num_attention_heads",
                    config.num_attention_heads);
  }
}

// With and without the prefix of older files, and without the head.
WeightMap siglip_weight_map();

}  // namespace omnirt::nn
