#include "networks/autoencoder_kl/ldm_config.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace omnirt {
namespace {

constexpr int64_t norm_groups = 32;

}  // namespace

Json ldm_autoencoder_config(const TensorShapes& shapes, const std::string& prefix) {
  int64_t levels = shapes.count(prefix + "encoder.down.");
  int64_t layers = shapes.count(prefix + "encoder.down.0.block.");
  Json channels = Json::array(), down = Json::array(), up = Json::array();
  for (int64_t i = 0; i < levels; ++i) {
    channels.push_back(
        shapes.size(fmt::format("{}encoder.down.{}.block.0.conv2.weight", prefix, i), 0));
    down.push_back("DownEncoderBlock2D");
    up.push_back("UpDecoderBlock2D");
    if (channels.back().get<int64_t>() % norm_groups == 0) continue;
    throw Unsupported({prefix + "*", channels.back().dump(),
                       fmt::format("a level's channels are not groups of {}", norm_groups),
                       "give config.single_file_config a folder with the model's config files"});
  }
  if (levels < 1 || levels > 8)
    throw Unsupported({prefix + "*", std::to_string(levels), "not an autoencoder's levels", ""});
  return {{"_class_name", "AutoencoderKL"},
          {"act_fn", "silu"},
          {"block_out_channels", channels},
          {"down_block_types", down},
          {"up_block_types", up},
          {"in_channels", shapes.size(prefix + "encoder.conv_in.weight", 1)},
          {"out_channels", shapes.size(prefix + "decoder.conv_out.weight", 0)},
          {"latent_channels", shapes.size(prefix + "decoder.conv_in.weight", 1)},
          {"layers_per_block", layers},
          {"norm_num_groups", norm_groups}};
}

}  // namespace omnirt
