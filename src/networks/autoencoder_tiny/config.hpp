#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/config.hpp"

namespace omnirt {

// config.json of AutoencoderTiny; defaults are those of the class in diffusers.
struct AutoencoderTinyConfig {
  int64_t in_channels = 3;
  int64_t out_channels = 3;
  std::vector<int64_t> encoder_block_out_channels{64, 64, 64, 64};
  std::vector<int64_t> decoder_block_out_channels{64, 64, 64, 64};
  std::string act_fn = "relu";
  int64_t latent_channels = 4;
  int64_t upsampling_scaling_factor = 2;
  std::vector<int64_t> num_encoder_blocks{1, 3, 3, 3};
  std::vector<int64_t> num_decoder_blocks{3, 3, 3, 1};
  bool force_upcast = false;
  double scaling_factor = 1.0;
  double shift_factor = 0.0;
  // Not diffusers': "flux_2" is TAEF2 (github madebyollin/taesd, taesd.py arch_variant), whose
  // blocks at the lowest resolution look at the whole image and whose latents are FLUX.2's, packed.
  std::string arch_variant;

  bool flux_2() const { return arch_variant == "flux_2"; }

  static void visit(auto& self, auto& v) {
    v("in_channels", self.in_channels);
    v("out_channels", self.out_channels);
    v("encoder_block_out_channels", self.encoder_block_out_channels);
    v("decoder_block_out_channels", self.decoder_block_out_channels);
    v("act_fn", self.act_fn);
    v("latent_channels", self.latent_channels);
    v("upsampling_scaling_factor", self.upsampling_scaling_factor);
    v("num_encoder_blocks", self.num_encoder_blocks);
    v("num_decoder_blocks", self.num_decoder_blocks);
    v("force_upcast", self.force_upcast);
    v("scaling_factor", self.scaling_factor);
    v("shift_factor", self.shift_factor);
    v("arch_variant", self.arch_variant);
    v.only("upsample_fn", {"nearest"});
    v.only("quantization_config", {});
    // How latents are stored as images; and a copy of decoder_block_out_channels that the writer
    // adds.
    v.ignore({"latent_magnitude", "latent_shift", "block_out_channels"});
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
AutoencoderTinyConfig read_autoencoder_tiny_config(const Json& json, const std::string& where);

// The config of a file that holds nothing else, inferred from names and shapes; null for files of
// other classes.
Json autoencoder_tiny_config_of(const std::map<std::string, std::vector<int64_t>>& shapes,
                                const std::string& where);

}  // namespace omnirt
