#include "networks/chroma_transformer_2d_model/config.hpp"

namespace omnirt {

FluxTransformer2DConfig ChromaTransformer2DConfig::as_flux() const {
  FluxTransformer2DConfig made;
  made.patch_size = patch_size;
  made.in_channels = in_channels;
  made.out_channels = out_channels;
  made.num_layers = num_layers;
  made.num_single_layers = num_single_layers;
  made.attention_head_dim = attention_head_dim;
  made.num_attention_heads = num_attention_heads;
  made.joint_attention_dim = joint_attention_dim;
  made.axes_dims_rope = axes_dims_rope;
  return made;
}

ChromaTransformer2DConfig read_chroma_transformer_2d_config(const Json& json,
                                                            const std::string& where) {
  auto config = read_config<ChromaTransformer2DConfig>(json, where);
  nn::ConfigCheck check(where);
  check_flux_transformer_2d_config(config.as_flux(), check);
  check.range("approximator_num_channels", config.approximator_num_channels, 4, 1 << 12);
  check.range("approximator_hidden_dim", config.approximator_hidden_dim, 1, 1 << 16);
  check.range("approximator_layers", config.approximator_layers, 0, 64);
  check.divisible("approximator_num_channels", config.approximator_num_channels,
                  "the waves of timestep, guidance and place", 4);
  check.finish();
  return config;
}

}  // namespace omnirt
