#include "networks/autoencoder_kl_flux2/original.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "networks/autoencoder_kl_flux2/model.hpp"
#include "nn/blocks/autoencoder_ldm_rules.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

constexpr int64_t norm_groups = 32;  // of all that were released
constexpr int64_t most_levels = 8;

// Channels of each level of one half, the full resolution first.
Json channels_of(const TensorShapes& shapes, const std::string& levels, const std::string& where) {
  int64_t count = shapes.count(levels);
  if (count < 1 || count > most_levels)
    throw Unsupported({where, fmt::format("{} levels", count), "not an autoencoder's levels", ""});
  Json channels = Json::array();
  for (int64_t i = 0; i < count; ++i) {
    int64_t width = shapes.size(fmt::format("{}{}.block.0.conv2.weight", levels, i), 0);
    if (width % norm_groups != 0) {
      throw Unsupported({where, fmt::format("{} channels", width),
                         fmt::format("a level's channels are not groups of {}", norm_groups),
                         "give a folder with the autoencoder's config.json"});
    }
    channels.push_back(width);
  }
  return channels;
}

}  // namespace

nn::OriginalLayout flux2_autoencoder_layout(const AutoencoderKLFlux2& vae) {
  std::vector<nn::LayoutRule> rules = nn::ldm_autoencoder_rules(vae.encoder, vae.decoder);
  rules.push_back({"quant_conv", "encoder.quant_conv"});
  rules.push_back({"post_quant_conv", "decoder.post_quant_conv"});
  rules.push_back({"bn", "bn"});
  return {"flux2", std::move(rules), {"bn.num_batches_tracked"}};
}

Json flux2_autoencoder_config(const std::map<std::string, std::vector<int64_t>>& all,
                              const std::string& where) {
  const TensorShapes shapes(all);
  if (!shapes.has("bn.running_mean") || !shapes.has("encoder.down.0.block.0.conv1.weight") ||
      !shapes.has("decoder.up.0.block.0.conv1.weight"))
    return {};
  Json channels = channels_of(shapes, "encoder.down.", where);
  return {{"_class_name", "AutoencoderKLFlux2"},
          {"in_channels", shapes.size("encoder.conv_in.weight", 1)},
          {"out_channels", shapes.size("decoder.conv_out.weight", 0)},
          {"down_block_types", std::vector<std::string>(channels.size(), "DownEncoderBlock2D")},
          {"up_block_types", std::vector<std::string>(channels.size(), "UpDecoderBlock2D")},
          {"block_out_channels", channels},
          {"decoder_block_out_channels", channels_of(shapes, "decoder.up.", where)},
          {"layers_per_block", shapes.count("encoder.down.0.block.")},
          {"latent_channels", shapes.size("decoder.conv_in.weight", 1)},
          {"norm_num_groups", norm_groups},
          {"use_quant_conv", shapes.has("encoder.quant_conv.weight")},
          {"use_post_quant_conv", shapes.has("decoder.post_quant_conv.weight")},
          {"mid_block_add_attention", shapes.has("encoder.mid.attn_1.q.weight")}};
}

}  // namespace omnirt
