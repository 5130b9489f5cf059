#include "nn/unet_2d_config.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace omnirt {
namespace {

const std::vector<std::string> activations{"silu", "swish", "gelu", "relu"};

constexpr const char* depth_key = "transformer_layers_per_block";
constexpr const char* up_depth_key = "reverse_transformer_layers_per_block";

bool is_list(const UNetDepth& depth) {
  return std::holds_alternative<std::vector<int64_t>>(depth);
}

// One for each level.
std::vector<UNetDepth> level_depths(const UNet2DConditionConfig& config, nn::ConfigCheck& check,
                                    size_t levels) {
  const auto& given = config.transformer_layers_per_block;
  if (const auto* one = std::get_if<int64_t>(&given)) return std::vector<UNetDepth>(levels, *one);
  const auto& list = std::get<std::vector<UNetDepth>>(given);
  check.expect(list.size() == levels, depth_key, std::to_string(list.size()) + " values",
               fmt::format("there must be one value for each of the {} levels", levels));
  return list;
}

// The up path's, by level.
std::vector<UNetDepth> up_level_depths(const UNet2DConditionConfig& config,
                                       const std::vector<UNetDepth>& down, nn::ConfigCheck& check) {
  if (!config.reverse_transformer_layers_per_block) return down;
  std::vector<UNetDepth> list = *config.reverse_transformer_layers_per_block;
  std::ranges::reverse(list);
  check.expect(list.size() == down.size(), up_depth_key, std::to_string(list.size()) + " values",
               fmt::format("there must be one value for each of the {} levels", down.size()));
  return list;
}

// Of each of `layers` resnets.
std::vector<int64_t> depth_of_each(const UNetDepth& depth, const char* key, int64_t layers,
                                   nn::ConfigCheck& check) {
  const auto count = static_cast<size_t>(std::clamp<int64_t>(layers, 0, 32));
  if (!is_list(depth)) return std::vector<int64_t>(count, std::get<int64_t>(depth));
  auto list = std::get<std::vector<int64_t>>(depth);
  check.expect(list.size() >= count, key, fmt::format("a list of {}", list.size()),
               fmt::format("the level has {} resnets, each with a transformer", count));
  list.resize(count);
  return list;
}

std::vector<UNetLevel> make_levels(const UNet2DConditionConfig& config, nn::ConfigCheck& check) {
  size_t count = config.block_out_channels.size();
  auto layers = check.per_level("layers_per_block", config.layers_per_block, count);
  const auto depth = level_depths(config, check, count);
  const auto up_depth = up_level_depths(config, depth, check);
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
    UNetLevel level{.channels = config.block_out_channels[i],
                    .layers = layers[i],
                    .down_depths = depth_of_each(depth[i], depth_key, layers[i], check),
                    .up_depths = {},
                    .heads = heads[i],
                    .context_dim = context[i],
                    .only_cross_attention = only_cross[i],
                    .cross_attention_down = down,
                    .cross_attention_up = up};
    level.middle_depth = level.down_depths.empty() ? 0 : level.down_depths.front();
    // ControlNets, which have no up path, may have lists without a counterpart.
    const bool has_own = config.reverse_transformer_layers_per_block || !is_list(depth[i]);
    level.up_depths = has_own ? depth_of_each(up_depth[i], up_depth_key,
                                              std::min<int64_t>(layers[i], 32) + 1, check)
                              : std::vector<int64_t>(level.down_depths.size() + 1, 1);
    levels.push_back(std::move(level));
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
  // Of a level without transformers it says nothing; the last one's is the middle's, too.
  auto check_depths = [&](const char* key, const std::vector<int64_t>& depths, bool used) {
    for (int64_t depth : depths) check.range(key, depth, used ? 1 : 0, 32);
  };
  check_depths(depth_key, level.down_depths, level.cross_attention_down);
  check_depths(config.reverse_transformer_layers_per_block ? up_depth_key : depth_key,
               level.up_depths, level.cross_attention_up);
  check.range("cross_attention_dim", level.context_dim, 1, 1 << 16);
  check.range("attention_head_dim", level.heads, 1, std::max<int64_t>(level.channels, 1));
}

}  // namespace

UNet2DConditionConfig read_unet_2d_condition_config(const Json& json, const std::string& where) {
  auto config = read_config<UNet2DConditionConfig>(json, where);
  nn::ConfigCheck check(where);
  check_unet_2d_condition_config(config, check);
  const auto* depths = std::get_if<std::vector<UNetDepth>>(&config.transformer_layers_per_block);
  check.expect(config.reverse_transformer_layers_per_block || !depths ||
                   std::ranges::none_of(*depths, is_list),
               up_depth_key, "null", "it is needed where transformer_layers_per_block has lists",
               "list the depths of the up blocks, from the lowest level up");
  check.finish();
  return config;
}

void check_unet_2d_condition_config(const UNet2DConditionConfig& config, nn::ConfigCheck& check) {
  check_scalars(config, check);
  check_lists(config, check);
  check_addition(config, check);
  std::vector<UNetLevel> levels = make_levels(config, check);
  for (const UNetLevel& level : levels) check_level(config, level, check);
  if (!levels.empty() && config.mid_block_type == "UNetMidBlock2DCrossAttn")
    check.range(depth_key, levels.back().middle_depth, 1, 32);
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
