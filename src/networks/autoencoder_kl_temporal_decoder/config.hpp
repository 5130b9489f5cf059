#pragma once
#include <string>
#include <vector>

#include "base/config.hpp"

namespace omnirt {

// config.json of AutoencoderKLTemporalDecoder; defaults are those of the class in diffusers.
struct AutoencoderKLTemporalDecoderConfig {
  static constexpr int64_t norm_groups = 32;  // of every norm, whatever a config says
  int64_t in_channels = 3;
  int64_t out_channels = 3;
  std::vector<std::string> down_block_types{"DownEncoderBlock2D"};
  std::vector<int64_t> block_out_channels{64};
  int64_t layers_per_block = 1;
  int64_t latent_channels = 4;
  double scaling_factor = 0.18215;
  bool force_upcast = true;

  static void visit(auto& self, auto& v) {
    v("in_channels", self.in_channels);
    v("out_channels", self.out_channels);
    v("down_block_types", self.down_block_types);
    v("block_out_channels", self.block_out_channels);
    v("layers_per_block", self.layers_per_block);
    v("latent_channels", self.latent_channels);
    v("scaling_factor", self.scaling_factor);
    v("force_upcast", self.force_upcast);
    v.only("quantization_config", {});
    v.ignore({"sample_size"});
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
AutoencoderKLTemporalDecoderConfig read_autoencoder_kl_temporal_decoder_config(
    const Json& json, const std::string& where);

}  // namespace omnirt
