#include "networks/autoencoder_kl/ldm_config.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace omnirt {
namespace {

constexpr int64_t norm_groups = 32;

// The names from which the sizes are read.
struct Names {
  const char *levels, *layers, *attention;
};
constexpr Names ldm_names{"encoder.down.", "block.", "encoder.mid.attn_1.q.weight"};
constexpr Names diffusers_names{"encoder.down_blocks.", "resnets.",
                                "encoder.mid_block.attentions.0.group_norm.weight"};

int64_t level_channels(const TensorShapes& shapes, const Names& names, const std::string& prefix,
                       int64_t level) {
  const int64_t channels = shapes.size(
      fmt::format("{}{}{}.{}0.conv2.weight", prefix, names.levels, level, names.layers), 0);
  if (channels % norm_groups == 0) return channels;
  throw Unsupported({prefix + "*", std::to_string(channels),
                     fmt::format("a level's channels are not groups of {}", norm_groups),
                     "give config.single_file_config a folder with the model's config files"});
}

Json config_of(const TensorShapes& shapes, const Names& names, const std::string& prefix) {
  const int64_t levels = shapes.count(prefix + names.levels);
  if (levels < 1 || levels > 8)
    throw Unsupported({prefix + "*", std::to_string(levels), "not an autoencoder's levels", ""});
  Json channels = Json::array(), down = Json::array(), up = Json::array();
  for (int64_t i = 0; i < levels; ++i) {
    channels.push_back(level_channels(shapes, names, prefix, i));
    down.push_back("DownEncoderBlock2D");
    up.push_back("UpDecoderBlock2D");
  }
  return {{"_class_name", "AutoencoderKL"},
          {"act_fn", "silu"},
          {"block_out_channels", channels},
          {"down_block_types", down},
          {"up_block_types", up},
          {"in_channels", shapes.size(prefix + "encoder.conv_in.weight", 1)},
          {"out_channels", shapes.size(prefix + "decoder.conv_out.weight", 0)},
          {"latent_channels", shapes.size(prefix + "decoder.conv_in.weight", 1)},
          {"layers_per_block",
           shapes.count(fmt::format("{}{}0.{}", prefix, names.levels, names.layers))},
          {"norm_num_groups", norm_groups}};
}

// Networks that share the names: those of videos, with a normalisation of latents, of codebooks.
bool is_other_autoencoder(const TensorShapes& shapes) {
  return shapes.rank("encoder.conv_in.weight") != 4 || shapes.any("bn.") ||
         shapes.any("quantize.") || shapes.any("decoder.mid.block_1.time_stack.") ||
         shapes.any("decoder.time_conv_out.");
}

}  // namespace

Json ldm_autoencoder_config(const TensorShapes& shapes, const std::string& prefix) {
  return config_of(shapes, ldm_names, prefix);
}

std::string autoencoder_kl_layout_of(const std::map<std::string, std::vector<int64_t>>& all) {
  return TensorShapes(all).any(ldm_names.levels) ? "ldm" : "";
}

Json autoencoder_kl_config_alone(const std::map<std::string, std::vector<int64_t>>& all,
                                 const std::string&) {
  const TensorShapes shapes(all);
  const Names& names = shapes.any(ldm_names.levels) ? ldm_names : diffusers_names;
  if (!shapes.any(names.levels) || !shapes.has("decoder.conv_in.weight") ||
      is_other_autoencoder(shapes))
    return {};
  Json config = config_of(shapes, names, "");
  config["use_quant_conv"] = shapes.has("quant_conv.weight");
  config["use_post_quant_conv"] = shapes.has("post_quant_conv.weight");
  config["mid_block_add_attention"] = shapes.has(names.attention);
  return config;
}

}  // namespace omnirt
