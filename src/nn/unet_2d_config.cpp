#include "nn/unet_2d_config.hpp"

#include <fmt/format.h>

namespace omnirt {
namespace {

const std::vector<std::string> activations{"silu", "swish", "gelu", "relu"};

std::vector<UNetLevel> make_levels(const UNet2DConditionConfig& config, nn::ConfigCheck& check) {
  size_t count = config.block_out_channels.size();
  auto layers = check.per_level("layers_per_block", config.layers_per_block, count);
  auto depth =
      check.per_level("transformer_layers_per_block", config.transformer_layers_per_block, count);
  auto heads = check.per_level("attention_head_dim", config.attention_head_dim, count);
  auto context = check.per_level("cross_attention_dim", config.cross_attention_dim, count);
  auto only_cross = check.per_level("only_cross_attention", config.only_cross_attention, count);
  check.expect(config.down_block_types.size() == count && config.up_block_types.size() == count,
               "block_out_channels", fmt::format("{} values", count),
               "down_block_types, up_block_types and block_out_channels must be equally long");
  if (!check.ok()) return {};
  std::vector<UNetLevel> levels;
  for (size_t i = 0; i < count; ++i) {
    // Types are listed in the order in which the blocks run: up blocks from the lowest level.
    bool down = config.down_block_types[i] == "CrossAttnDownBlock2D";
    bool up = config.up_block_types[count - 1 - i] == "CrossAttnUpBlock2D";
    levels.push_back({config.block_out_channels[i], layers[i], depth[i], heads[i], context[i],
                      only_cross[i], down, up});
  }
  return levels;
}

void check_scalars(const UNet2DConditionConfig& config, nn::ConfigCheck& check) {
  check.range("in_channels", config.in_channels, 1, 1 << 12);
  check.range("out_channels", config.out_channels, 1, 1 << 12);
  check.range("norm_num_groups", config.norm_num_groups, 1, 1 << 12);
  check.range("downsample_padding", config.downsample_padding, 0, 1);
  for (auto [name, kernel] : {std::pair{"conv_in_kernel", config.conv_in_kernel},
                              std::pair{"conv_out_kernel", config.conv_out_kernel}}) {
    check.expect(kernel >= 1 && kernel <= 31 && kernel % 2 == 1, name, std::to_string(kernel),
                 "an odd size of 1..31 is expected, so that the image keeps its size");
  }
  check.range("time_embedding_dim", config.time_embedding_dim.value_or(1), 1, 1 << 16);
  check.range("time_cond_proj_dim", config.time_cond_proj_dim.value_or(1), 1, 1 << 16);
  check.positive("norm_eps", config.norm_eps);
  check.positive("mid_block_scale_factor", config.mid_block_scale_factor);
  check.one_of("act_fn", config.act_fn, activations);
  check.one_of("time_embedding_act_fn", config.time_embedding_act_fn.value_or("silu"), activations);
  check.one_of("timestep_post_act", config.timestep_post_act.value_or("silu"), activations);
  check.one_of("resnet_time_scale_shift", config.resnet_time_scale_shift,
               {"default", "scale_shift"});
}

void check_addition(const UNet2DConditionConfig& config, nn::ConfigCheck& check) {
  if (!config.addition_embed_type) return;
  check.one_of("addition_embed_type", *config.addition_embed_type, {"text_time"});
  // Both are needed then; 0 means a missing one.
  check.range("addition_time_embed_dim", config.addition_time_embed_dim.value_or(0), 1, 1 << 16);
  check.range("projection_class_embeddings_input_dim",
              config.projection_class_embeddings_input_dim.value_or(0), 1, 1 << 18);
}

void check_lists(const UNet2DConditionConfig& config, nn::ConfigCheck& check) {
  check.length("block_out_channels", config.block_out_channels.size(), 8);
  for (const auto& type : config.down_block_types) {
    check.one_of("down_block_types", type, {"DownBlock2D", "CrossAttnDownBlock2D"});
  }
  for (const auto& type : config.up_block_types) {
    check.one_of("up_block_types", type, {"UpBlock2D", "CrossAttnUpBlock2D"});
  }
  check.one_of("mid_block_type", config.mid_block_type.value_or("UNetMidBlock2D"),
               {"UNetMidBlock2DCrossAttn", "UNetMidBlock2D"});
  if (!config.sample_size) return;
  const auto* pair = std::get_if<std::vector<int64_t>>(&*config.sample_size);
  const auto* single = std::get_if<int64_t>(&*config.sample_size);
  check.expect(!pair || pair->size() == 2, "sample_size", "a list",
               "{height, width} is expected, or one number");
  for (int64_t side : pair ? *pair : std::vector<int64_t>{*single}) {
    check.range("sample_size", side, 1, 1 << 16);
  }
}

void check_level(const UNet2DConditionConfig& config, const UNetLevel& level,
                 nn::ConfigCheck& check) {
  check.range("block_out_channels", level.channels, 1, 1 << 16);
  check.divisible("block_out_channels", level.channels, "norm_num_groups", config.norm_num_groups);
  check.range("layers_per_block", level.layers, 1, 16);
  check.range("transformer_layers_per_block", level.transformer_layers, 1, 32);
  check.range("cross_attention_dim", level.context_dim, 1, 1 << 16);
  check.range("attention_head_dim", level.heads, 1, std::max<int64_t>(level.channels, 1));
}

}  // namespace

UNet2DConditionConfig read_unet_2d_condition_config(const Json& json, const std::string& where) {
  auto config = read_config<UNet2DConditionConfig>(json, where);
  nn::ConfigCheck check(where);
  check_unet_2d_condition_config(config, check);
  check.finish();
  return config;
}

void check_unet_2d_condition_config(const UNet2DConditionConfig& config, nn::ConfigCheck& check) {
  check_scalars(config, check);
  check_lists(config, check);
  check_addition(config, check);
  std::vector<UNetLevel> levels = make_levels(config, check);
  for (const UNetLevel& level : levels) check_level(config, level, check);
  for (const UNetLevel& level : levels) {
    check.expect(level.context_dim == levels.front().context_dim, "cross_attention_dim",
                 std::to_string(level.context_dim),
                 fmt::format("another level has {}, and all are given the same embeddings",
                             levels.front().context_dim),
                 "give one number");
  }
}

std::vector<UNetLevel> unet_levels(const UNet2DConditionConfig& config) {
  nn::ConfigCheck check("config");
  auto levels = make_levels(config, check);
  check.finish();
  return levels;
}

}  // namespace omnirt
