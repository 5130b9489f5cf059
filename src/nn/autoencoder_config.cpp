#include "nn/autoencoder_config.hpp"

#include <fmt/format.h>

namespace omnirt::nn {

void check_autoencoder_levels(const AutoencoderLevels& levels, ConfigCheck& check) {
  size_t count = levels.block_out_channels.size();
  check.length("block_out_channels", count, 8);
  check.expect(levels.down_block_types.size() == count && levels.up_block_types.size() == count,
               "block_out_channels", fmt::format("{} values", count),
               "down_block_types, up_block_types and block_out_channels must be equally long");
  for (const auto& type : levels.down_block_types) {
    check.one_of("down_block_types", type, {"DownEncoderBlock2D"});
  }
  for (const auto& type : levels.up_block_types) {
    check.one_of("up_block_types", type, {"UpDecoderBlock2D"});
  }
  for (int64_t channels : levels.block_out_channels) {
    check.range("block_out_channels", channels, 1, 1 << 16);
    check.divisible("block_out_channels", channels, "norm_num_groups", levels.norm_num_groups);
  }
}

int64_t first_of(const std::variant<int64_t, std::vector<int64_t>>& sides) {
  if (const auto* one = std::get_if<int64_t>(&sides)) return *one;
  const auto& list = std::get<std::vector<int64_t>>(sides);
  return list.empty() ? 0 : list.front();
}

}  // namespace omnirt::nn
