#include "networks/unet_spatio_temporal_condition_model/config.hpp"

#include <fmt/format.h>

namespace omnirt {
namespace {

std::vector<SpatioTemporalLevel> make_levels(const UNetSpatioTemporalConfig& config,
                                             nn::ConfigCheck& check) {
  size_t count = config.block_out_channels.size();
  auto layers = check.per_level("layers_per_block", config.layers_per_block, count);
  auto depth =
      check.per_level("transformer_layers_per_block", config.transformer_layers_per_block, count);
  auto heads = check.per_level("num_attention_heads", config.num_attention_heads, count);
  auto context = check.per_level("cross_attention_dim", config.cross_attention_dim, count);
  check.expect(config.down_block_types.size() == count && config.up_block_types.size() == count,
               "block_out_channels", fmt::format("{} values", count),
               "down_block_types, up_block_types and block_out_channels must be equally long");
  if (!check.ok()) return {};
  std::vector<SpatioTemporalLevel> levels;
  for (size_t i = 0; i < count; ++i) {
    // Types are listed in the order in which the blocks run: up blocks from the lowest level.
    bool down = config.down_block_types[i] == "CrossAttnDownBlockSpatioTemporal";
    bool up = config.up_block_types[count - 1 - i] == "CrossAttnUpBlockSpatioTemporal";
    levels.push_back(
        {config.block_out_channels[i], layers[i], depth[i], heads[i], context[i], down, up});
  }
  return levels;
}

void check_lists(const UNetSpatioTemporalConfig& config, nn::ConfigCheck& check) {
  check.length("block_out_channels", config.block_out_channels.size(), 8);
  for (const auto& type : config.down_block_types) {
    check.one_of("down_block_types", type,
                 {"DownBlockSpatioTemporal", "CrossAttnDownBlockSpatioTemporal"});
  }
  for (const auto& type : config.up_block_types) {
    check.one_of("up_block_types", type,
                 {"UpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal"});
  }
  if (!config.sample_size) return;
  const auto* pair = std::get_if<std::vector<int64_t>>(&*config.sample_size);
  const auto* single = std::get_if<int64_t>(&*config.sample_size);
  check.expect(!pair || pair->size() == 2, "sample_size", "a list",
               "{height, width} is expected, or one number");
  for (int64_t side : pair ? *pair : std::vector<int64_t>{*single}) {
    check.range("sample_size", side, 1, 1 << 16);
  }
}

void check_level(const SpatioTemporalLevel& level, nn::ConfigCheck& check) {
  check.range("block_out_channels", level.channels, 1, 1 << 16);
  check.divisible("block_out_channels", level.channels, "the 32 groups of its norms",
                  spatio_temporal_groups);
  check.range("layers_per_block", level.layers, 1, 16);
  check.range("transformer_layers_per_block", level.transformer_layers, 1, 32);
  check.range("cross_attention_dim", level.context_dim, 1, 1 << 16);
  check.range("num_attention_heads", level.heads, 1, std::max<int64_t>(level.channels, 1));
  if (level.heads > 0) {
    check.divisible("block_out_channels", level.channels, "num_attention_heads", level.heads);
  }
}

}  // namespace

UNetSpatioTemporalConfig read_unet_spatio_temporal_config(const Json& json,
                                                          const std::string& where) {
  auto config = read_config<UNetSpatioTemporalConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("in_channels", config.in_channels, 1, 1 << 12);
  check.range("out_channels", config.out_channels, 1, 1 << 12);
  check.range("num_frames", config.num_frames, 1, 1 << 12);
  check.range("addition_time_embed_dim", config.addition_time_embed_dim, 1, 1 << 16);
  check.range("projection_class_embeddings_input_dim", config.projection_class_embeddings_input_dim,
              1, 1 << 20);
  if (config.addition_time_embed_dim > 0) {
    check.divisible("projection_class_embeddings_input_dim",
                    config.projection_class_embeddings_input_dim, "addition_time_embed_dim",
                    config.addition_time_embed_dim);
  }
  check_lists(config, check);
  for (const SpatioTemporalLevel& level : make_levels(config, check)) check_level(level, check);
  check.finish();
  return config;
}

std::vector<SpatioTemporalLevel> spatio_temporal_levels(const UNetSpatioTemporalConfig& config) {
  nn::ConfigCheck check("config");
  auto levels = make_levels(config, check);
  check.finish();
  return levels;
}

}  // namespace omnirt
