#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/config.hpp"
#include "nn/autoencoder_config.hpp"

namespace omnirt {

// config.json of AutoencoderKL; defaults are those of the class in diffusers.
struct AutoencoderKLConfig {
  int64_t in_channels = 3;
  int64_t out_channels = 3;
  std::vector<std::string> down_block_types{"DownEncoderBlock2D"};
  std::vector<std::string> up_block_types{"UpDecoderBlock2D"};
  std::vector<int64_t> block_out_channels{64};
  int64_t layers_per_block = 1;
  std::string act_fn = "silu";
  int64_t latent_channels = 4;
  int64_t norm_num_groups = 32;
  double scaling_factor = 0.18215;
  std::optional<double> shift_factor;
  bool force_upcast = true;
  bool use_quant_conv = true;
  bool use_post_quant_conv = true;
  bool mid_block_add_attention = true;
  // Pixels a side of tiles; of a list the first counts.
  std::variant<int64_t, std::vector<int64_t>> sample_size = int64_t{32};

  int64_t tile_size() const { return nn::first_of(sample_size); }

  static void visit(auto& self, auto& v) {
    v("in_channels", self.in_channels);
    v("out_channels", self.out_channels);
    v("down_block_types", self.down_block_types);
    v("up_block_types", self.up_block_types);
    v("block_out_channels", self.block_out_channels);
    v("layers_per_block", self.layers_per_block);
    v("act_fn", self.act_fn);
    v("latent_channels", self.latent_channels);
    v("norm_num_groups", self.norm_num_groups);
    v("scaling_factor", self.scaling_factor);
    v("shift_factor", self.shift_factor);
    v("force_upcast", self.force_upcast);
    v("use_quant_conv", self.use_quant_conv);
    v("use_post_quant_conv", self.use_post_quant_conv);
    v("mid_block_add_attention", self.mid_block_add_attention);
    v.only("latents_mean", {});
    v.only("latents_std", {});
    v.only("quantization_config", {});
    v("sample_size", self.sample_size);
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
AutoencoderKLConfig read_autoencoder_kl_config(const Json& json, const std::string& where);

}  // namespace omnirt
