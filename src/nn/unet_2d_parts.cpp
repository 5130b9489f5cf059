#include "nn/unet_2d_parts.hpp"

#include "nn/layout.hpp"

namespace omnirt {

int64_t time_dim(const UNet2DConditionConfig& config) {
  return config.time_embedding_dim.value_or(4 * config.block_out_channels.front());
}

ops::Activation activation(const std::optional<std::string>& name) {
  return name ? ops::activation_from_name(*name, "activation") : ops::Activation::none;
}

nn::Conv2dOptions same_size(int64_t kernel) {
  int64_t padding = (kernel - 1) / 2;
  return {.kernel = kernel, .padding = {padding, padding, padding, padding}};
}

nn::TimestepEmbeddingOptions time_options(const UNet2DConditionConfig& config) {
  return {.in = config.block_out_channels.front(),
          .out = time_dim(config),
          .cond = config.time_cond_proj_dim.value_or(0),
          .activation = activation(config.act_fn),
          .post_activation = activation(config.timestep_post_act)};
}

nn::TimestepEmbeddingOptions added_options(const UNet2DConditionConfig& config) {
  return {.in = *config.projection_class_embeddings_input_dim, .out = time_dim(config)};
}

Tensor text_time_embedding(Context& cx, const UNet2DConditionConfig& config,
                           const nn::TimestepEmbedding& embedding, const Tensor& text_embeds,
                           const Tensor& time_ids) {
  Tensor numbers = time_ids.to(at::kFloat).flatten();
  Tensor waves = cx.ops().timestep_embedding(
      cx, {numbers, *config.addition_time_embed_dim, config.flip_sin_to_cos, config.freq_shift});
  Tensor of_row = nn::in_form(cx, waves.view({time_ids.size(0), -1}));
  Tensor text = nn::in_form(cx, text_embeds);
  return embedding.forward(cx, cx.ops().concat(cx, {text, of_row}), nullptr);
}

nn::UNetLevelOptions level_options(const UNet2DConditionConfig& config, const UNetLevel& level) {
  return {.out = level.channels,
          .layers = level.layers,
          .resnet = {.temb = time_dim(config),
                     .groups = config.norm_num_groups,
                     .eps = config.norm_eps,
                     .activation = activation(config.act_fn),
                     .scale_shift = config.resnet_time_scale_shift == "scale_shift"},
          .transformer = {.heads = level.heads,
                          .head_dim = level.channels / level.heads,
                          .context_dim = level.context_dim,
                          .only_cross_attention = level.only_cross_attention,
                          .upcast_attention = config.upcast_attention.value_or(false),
                          .linear_projection = config.use_linear_projection,
                          .norm_groups = config.norm_num_groups,
                          .layers = level.middle_depth},
          .downsample_padding = config.downsample_padding};
}

nn::UNetLevelOptions down_options(const UNet2DConditionConfig& config,
                                  const std::vector<UNetLevel>& levels, size_t place) {
  nn::UNetLevelOptions options = level_options(config, levels[place]);
  options.in = levels[place == 0 ? 0 : place - 1].channels;
  options.cross_attention = levels[place].cross_attention_down;
  options.depths = levels[place].down_depths;
  options.resample = place + 1 < levels.size();
  return options;
}

nn::UNetLevelOptions mid_options(const UNet2DConditionConfig& config, const UNetLevel& lowest) {
  nn::UNetLevelOptions options = level_options(config, lowest);
  options.in = lowest.channels;
  options.cross_attention = *config.mid_block_type == "UNetMidBlock2DCrossAttn";
  options.transformer.only_cross_attention = false;
  options.resnet.output_scale_factor = config.mid_block_scale_factor;
  return options;
}

}  // namespace omnirt
