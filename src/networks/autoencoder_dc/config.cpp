#include "networks/autoencoder_dc/config.hpp"

#include <fmt/format.h>

namespace omnirt {
namespace {

constexpr size_t most_dc_levels = 8;
const char* const attention_block = "EfficientViTBlock";

// What the two halves of the config have under their own names.
struct DCHalf {
  std::string name;  // "encoder"
  const nn::PerLevel<std::string>& types;
  const std::vector<int64_t>& channels;
  const std::vector<int64_t>& layers;
  const DCScales& scales;
};

DCHalf encoder_of(const AutoencoderDCConfig& config) {
  return {"encoder", config.encoder_block_types, config.encoder_block_out_channels,
          config.encoder_layers_per_block, config.encoder_qkv_multiscales};
}

DCHalf decoder_of(const AutoencoderDCConfig& config) {
  return {"decoder", config.decoder_block_types, config.decoder_block_out_channels,
          config.decoder_layers_per_block, config.decoder_qkv_multiscales};
}

void check_scales(const DCHalf& half, nn::ConfigCheck& check) {
  const std::string name = half.name + "_qkv_multiscales";
  for (const std::vector<int64_t>& scales : half.scales) {
    check.expect(scales.size() <= 8, name, fmt::format("{} values", scales.size()),
                 "a level has at most 8");
    for (int64_t kernel : scales) {
      check.expect(kernel > 0 && kernel < 64 && kernel % 2 == 1, name, std::to_string(kernel),
                   "an odd number below 64 was expected");
    }
  }
}

// Between two levels each channel of the finer one is four of the coarser one's places: what goes
// past a convolution takes whole channels of both.
void check_dc_steps(const DCHalf& half, nn::ConfigCheck& check) {
  const std::string name = half.name + "_block_out_channels";
  for (size_t i = 0; i + 1 < half.channels.size(); ++i) {
    const int64_t fine = half.channels[i], coarse = half.channels[i + 1];
    check.expect(4 * fine % coarse == 0, name, fmt::format("{}, {}", fine, coarse),
                 "a level's channels must divide four times those of the level before");
  }
}

void check_dc_half(const DCHalf& half, size_t levels, int64_t head_dim, nn::ConfigCheck& check) {
  const std::string name = half.name + "_block_out_channels";
  check.length(name, half.channels.size(), most_dc_levels);
  check.expect(
      half.channels.size() == levels && half.layers.size() == levels &&
          half.scales.size() == levels,
      name, fmt::format("{} values", half.channels.size()),
      "channels, layers_per_block and qkv_multiscales of both halves must be equally long");
  for (int64_t layers : half.layers) check.range(half.name + "_layers_per_block", layers, 1, 64);
  for (int64_t channels : half.channels) check.range(name, channels, 1, 1 << 14);
  check_scales(half, check);
  const auto types = check.per_level(half.name + "_block_types", half.types, levels);
  for (size_t i = 0; i < types.size() && i < half.channels.size(); ++i) {
    check.one_of(half.name + "_block_types", types[i], {"ResBlock", attention_block});
    if (types[i] == attention_block)
      check.divisible(name, half.channels[i], "attention_head_dim", head_dim);
  }
  if (check.ok()) check_dc_steps(half, check);
}

void check_dc_decoder(const AutoencoderDCConfig& config, size_t levels, nn::ConfigCheck& check) {
  for (const auto& norm : check.per_level("decoder_norm_types", config.decoder_norm_types, levels))
    check.one_of("decoder_norm_types", norm, {"rms_norm"});
  for (const auto& act : check.per_level("decoder_act_fns", config.decoder_act_fns, levels))
    check.one_of("decoder_act_fns", act, {"silu", "relu", "gelu"});
  check.one_of("decoder_conv_act_fn", config.decoder_conv_act_fn, {"relu", "silu", "gelu"});
  check.one_of("upsample_block_type", config.upsample_block_type, {"pixel_shuffle", "interpolate"});
  check.one_of("downsample_block_type", config.downsample_block_type, {"pixel_unshuffle", "conv"});
}

// What goes past the first and the last convolution between channels and latents.
void check_dc_shortcuts(const AutoencoderDCConfig& config, nn::ConfigCheck& check) {
  const int64_t latents = config.latent_channels;
  if (config.encoder_out_shortcut) {
    check.divisible("encoder_block_out_channels", config.encoder_block_out_channels.back(),
                    "latent_channels", latents);
  }
  if (config.decoder_in_shortcut) {
    check.divisible("decoder_block_out_channels", config.decoder_block_out_channels.back(),
                    "latent_channels", latents);
  }
  if (config.downsample_block_type == "conv") return;
  for (size_t i = 1; i < config.encoder_block_out_channels.size(); ++i) {
    check.divisible("encoder_block_out_channels", config.encoder_block_out_channels[i],
                    "a pixel's parts", 4);
  }
}

std::vector<DCLevel> levels_of(const DCHalf& half, const nn::PerLevel<std::string>& activations) {
  const size_t count = half.channels.size();
  nn::ConfigCheck check(half.name);  // was checked
  const auto types = check.per_level("block_types", half.types, count);
  const auto acts = check.per_level("act_fns", activations, count);
  std::vector<DCLevel> levels;
  for (size_t i = 0; i < count; ++i) {
    levels.push_back(
        {half.channels[i], half.layers[i], types[i] == attention_block, half.scales[i], acts[i]});
  }
  return levels;
}

}  // namespace

std::vector<DCLevel> encoder_levels(const AutoencoderDCConfig& config) {
  return levels_of(encoder_of(config), std::string("silu"));
}

std::vector<DCLevel> decoder_levels(const AutoencoderDCConfig& config) {
  return levels_of(decoder_of(config), config.decoder_act_fns);
}

AutoencoderDCConfig read_autoencoder_dc_config(const Json& json, const std::string& where) {
  auto config = read_config<AutoencoderDCConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("in_channels", config.in_channels, 1, 1 << 8);
  check.range("latent_channels", config.latent_channels, 1, 1 << 12);
  check.range("attention_head_dim", config.attention_head_dim, 1, 1 << 10);
  check.positive("scaling_factor", config.scaling_factor);
  const size_t levels = config.encoder_block_out_channels.size();
  if (check.ok()) check_dc_half(encoder_of(config), levels, config.attention_head_dim, check);
  if (check.ok()) check_dc_half(decoder_of(config), levels, config.attention_head_dim, check);
  if (check.ok()) check_dc_decoder(config, levels, check);
  if (check.ok()) check_dc_shortcuts(config, check);
  check.finish();
  return config;
}

}  // namespace omnirt
