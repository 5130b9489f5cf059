#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/config.hpp"
#include "nn/config_check.hpp"

namespace omnirt {

using DCScales = std::vector<std::vector<int64_t>>;

// config.json of AutoencoderDC; defaults are those of diffusers' class.
struct AutoencoderDCConfig {
  int64_t in_channels = 3;
  int64_t latent_channels = 32;
  int64_t attention_head_dim = 32;
  nn::PerLevel<std::string> encoder_block_types = std::string("ResBlock");
  nn::PerLevel<std::string> decoder_block_types = std::string("ResBlock");
  std::vector<int64_t> encoder_block_out_channels{128, 256, 512, 512, 1024, 1024};
  std::vector<int64_t> decoder_block_out_channels{128, 256, 512, 512, 1024, 1024};
  std::vector<int64_t> encoder_layers_per_block{2, 2, 2, 3, 3, 3};
  std::vector<int64_t> decoder_layers_per_block{3, 3, 3, 3, 3, 3};
  DCScales encoder_qkv_multiscales{{}, {}, {}, {5}, {5}, {5}};
  DCScales decoder_qkv_multiscales{{}, {}, {}, {5}, {5}, {5}};
  std::string upsample_block_type = "pixel_shuffle";
  std::string downsample_block_type = "pixel_unshuffle";
  nn::PerLevel<std::string> decoder_norm_types = std::string("rms_norm");
  nn::PerLevel<std::string> decoder_act_fns = std::string("silu");
  bool encoder_out_shortcut = true;
  bool decoder_in_shortcut = true;
  std::string decoder_conv_act_fn = "relu";
  double scaling_factor = 1.0;

  static void visit(auto& self, auto& v) {
    v("in_channels", self.in_channels);
    v("latent_channels", self.latent_channels);
    v("attention_head_dim", self.attention_head_dim);
    v("encoder_block_types", self.encoder_block_types);
    v("decoder_block_types", self.decoder_block_types);
    v("encoder_block_out_channels", self.encoder_block_out_channels);
    v("decoder_block_out_channels", self.decoder_block_out_channels);
    v("encoder_layers_per_block", self.encoder_layers_per_block);
    v("decoder_layers_per_block", self.decoder_layers_per_block);
    v("encoder_qkv_multiscales", self.encoder_qkv_multiscales);
    v("decoder_qkv_multiscales", self.decoder_qkv_multiscales);
    v("upsample_block_type", self.upsample_block_type);
    v("downsample_block_type", self.downsample_block_type);
    v("decoder_norm_types", self.decoder_norm_types);
    v("decoder_act_fns", self.decoder_act_fns);
    v("encoder_out_shortcut", self.encoder_out_shortcut);
    v("decoder_in_shortcut", self.decoder_in_shortcut);
    v("decoder_conv_act_fn", self.decoder_conv_act_fn);
    v("scaling_factor", self.scaling_factor);
  }
};

// One level of the encoder or the decoder.
struct DCLevel {
  int64_t channels = 0;
  int64_t layers = 0;
  bool attends = false;             // EfficientViTBlock, in place of ResBlock
  std::vector<int64_t> scales{};    // kernels of its further queries, keys and values
  std::string activation = "silu";  // of ResBlock
};

// From the finest on; of a config that was checked.
std::vector<DCLevel> encoder_levels(const AutoencoderDCConfig& config);
std::vector<DCLevel> decoder_levels(const AutoencoderDCConfig& config);

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
AutoencoderDCConfig read_autoencoder_dc_config(const Json& json, const std::string& where);

}  // namespace omnirt
