#include "nn/sana_transformer_2d_config.hpp"

namespace omnirt {
namespace {

void check_sana_widths(const SanaTransformer2DConfig& config, nn::ConfigCheck& check) {
  check.expect(config.cross_attention_dim == config.inner_dim(), "cross_attention_dim",
               std::to_string(config.cross_attention_dim),
               "captions are projected to " + std::to_string(config.inner_dim()) + " channels",
               "the two must agree");
  check.range("mlp_ratio * num_attention_heads * attention_head_dim", config.hidden_dim(), 1,
              1 << 20);
  // A quarter of each token's width are the sines of its row.
  if (config.interpolation_scale) {
    check.divisible("num_attention_heads * attention_head_dim", config.inner_dim(),
                    "a wave's parts", 4);
  }
}

}  // namespace

void check_sana_transformer_2d_config(const SanaTransformer2DConfig& config,
                                      nn::ConfigCheck& check) {
  check.range("in_channels", config.in_channels, 1, 1 << 12);
  check.range("out_channels", config.predicted_channels(), 1, 1 << 12);
  check.range("num_attention_heads", config.num_attention_heads, 1, 1 << 10);
  check.range("attention_head_dim", config.attention_head_dim, 1, 1 << 10);
  check.range("num_layers", config.num_layers, 1, 512);
  check.range("num_cross_attention_heads", config.num_cross_attention_heads, 1, 1 << 10);
  check.range("cross_attention_head_dim", config.cross_attention_head_dim, 1, 1 << 10);
  check.range("caption_channels", config.caption_channels, 1, 1 << 16);
  check.range("patch_size", config.patch_size, 1, 64);
  check.range("sample_size", config.sample_size, config.patch_size, 1 << 14);
  check.positive("mlp_ratio", config.mlp_ratio);
  check.expect(config.mlp_ratio <= 64, "mlp_ratio", std::to_string(config.mlp_ratio),
               "the value must lie in 0..64");
  check.positive("norm_eps", config.norm_eps);
  check.positive("timestep_scale", config.timestep_scale);
  check.positive("guidance_embeds_scale", config.guidance_embeds_scale);
  if (config.interpolation_scale)
    check.positive("interpolation_scale", *config.interpolation_scale);
  if (config.qk_norm) check.one_of("qk_norm", *config.qk_norm, {"rms_norm_across_heads"});
  if (check.ok()) check_sana_widths(config, check);
}

SanaTransformer2DConfig read_sana_transformer_2d_config(const Json& json,
                                                        const std::string& where) {
  auto config = read_config<SanaTransformer2DConfig>(json, where);
  nn::ConfigCheck check(where);
  check_sana_transformer_2d_config(config, check);
  check.finish();
  return config;
}

}  // namespace omnirt
