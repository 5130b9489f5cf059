#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "nn/config_check.hpp"

namespace omnirt::nn {

// The levels of a convolutional autoencoder as configs list them.
struct AutoencoderLevels {
  const std::vector<std::string>& down_block_types;
  const std::vector<std::string>& up_block_types;
  const std::vector<int64_t>& block_out_channels;
  int64_t norm_num_groups;
};

// One type and one number of channels per level, of those that are implemented, in whole groups.
void check_autoencoder_levels(const AutoencoderLevels& levels, ConfigCheck& check);

// Of a config's value that may be a number, or a list of one for each side; 0 of an empty list.
int64_t first_of(const std::variant<int64_t, std::vector<int64_t>>& sides);

}  // namespace omnirt::nn
