#pragma once
#include "nn/blocks/clip_encoder.hpp"

namespace omnirt::nn {

// Of a tower whose config.json has the names of transformers' CLIP.
template <class Config>
CLIPEncoderOptions clip_encoder_options(const Config& config, bool causal) {
  return {.hidden_size = config.hidden_size,
          .intermediate_size = config.intermediate_size,
          .layers = config.num_hidden_layers,
          .heads = config.num_attention_heads,
          .activation = ops::activation_from_name(config.hidden_act, "hidden_act"),
          .layer_norm_eps = config.layer_norm_eps,
          .causal = causal};
}

}  // namespace omnirt::nn
