#include "networks/siglip_vision_model/config.hpp"

#include "nn/config_check.hpp"

namespace omnirt {

SiglipVisionConfig read_siglip_vision_config(const Json& json, const std::string& where) {
  auto config = read_config<SiglipVisionConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("hidden_size", config.hidden_size, 1, 1 << 16);
  check.range("intermediate_size", config.intermediate_size, 1, 1 << 18);
  check.range("num_hidden_layers", config.num_hidden_layers, 0, 256);
  check.range("num_attention_heads", config.num_attention_heads, 1, 1 << 12);
  check.range("num_channels", config.num_channels, 3, 3);
  check.range("image_size", config.image_size, 1, 1 << 14);
  check.range("patch_size", config.patch_size, 1, 1 << 10);
  check.positive("layer_norm_eps", config.layer_norm_eps);
  check.one_of("hidden_act", config.hidden_act,
               {"quick_gelu", "gelu", "gelu_new", "gelu_pytorch_tanh", "silu", "swish", "relu"});
  check.expect(config.patch_size <= config.image_size, "patch_size",
               std::to_string(config.patch_size), "a patch is larger than image_size");
  if (check.ok()) {
    check.divisible("hidden_size", config.hidden_size, "num_attention_heads",
                    config.num_attention_heads);
  }
  check.finish();
  return config;
}

}  // namespace omnirt
