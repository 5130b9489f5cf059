#include "networks/clip_text_model/config.hpp"

#include "nn/config_check.hpp"

namespace omnirt {

CLIPTextConfig read_clip_text_config(const Json& json, const std::string& where) {
  auto config = read_config<CLIPTextConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("vocab_size", config.vocab_size, 1, 1 << 24);
  check.range("hidden_size", config.hidden_size, 1, 1 << 16);
  check.range("intermediate_size", config.intermediate_size, 1, 1 << 18);
  check.range("num_hidden_layers", config.num_hidden_layers, 1, 256);
  check.range("num_attention_heads", config.num_attention_heads, 1, 1 << 12);
  check.range("max_position_embeddings", config.max_position_embeddings, 1, 1 << 16);
  check.range("projection_dim", config.projection_dim, 1, 1 << 16);
  check.positive("layer_norm_eps", config.layer_norm_eps);
  check.one_of("hidden_act", config.hidden_act,
               {"quick_gelu", "gelu", "gelu_new", "gelu_pytorch_tanh", "silu", "swish", "relu"});
  if (check.ok()) {
    check.divisible("hidden_size", config.hidden_size, "num_attention_heads",
                    config.num_attention_heads);
  }
  check.finish();
  return config;
}

}  // namespace omnirt
