#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"

namespace omnirt {

// config.json of AutoencoderKLQwenImage21; defaults are those of diffusers' class.
struct AutoencoderKLQwenImage21Config {
  int64_t base_dim = 96;
  std::optional<int64_t> decoder_base_dim = 144;  // null: base_dim
  int64_t z_dim = 64;
  std::vector<int64_t> dim_mult{1, 2, 4, 8, 8};
  int64_t num_res_blocks = 2;
  std::vector<bool> temperal_downsample{false, true, true, true};
  int64_t in_channels = 4;
  int64_t out_channels = 4;
  std::vector<double> latents_mean{
      0.5126,  0.7721,  -0.0631, 1.3506,  -0.7855, -2.1025, -0.3458, 1.3722,  1.8873,  -1.7177,
      -0.6510, 0.2732,  0.7562,  -0.6163, -1.0277, 3.8363,  2.0210,  0.0472,  0.9320,  2.0087,
      2.4954,  -0.1391, -1.4249, 1.8464,  -0.5236, 1.2826,  3.7046,  -1.3035, 2.7286,  -1.4518,
      -1.9036, -1.9955, -0.0342, -1.0265, -0.7636, 3.0555,  0.0746,  -3.0751, -0.1076, 1.7376,
      -1.0914, -1.9435, -0.2784, -1.3680, 0.4809,  -0.4433, 0.3764,  0.5729,  -2.0595, 1.0960,
      -1.3260, -2.0211, -5.0179, 0.5275,  4.0162,  1.8505,  0.3026,  1.9373,  1.4937,  0.2632,
      0.5547,  -1.7121, -0.1562, 0.0304};
  std::vector<double> latents_std{
      3.2001, 3.2936, 3.4321, 3.0091, 3.1061, 4.0379, 4.0705, 3.7910, 3.0785, 3.6500, 3.9308,
      3.0904, 2.8778, 3.7675, 3.7320, 5.0756, 3.2864, 4.0397, 3.1317, 4.0443, 2.9249, 3.9454,
      3.0988, 4.2489, 3.4896, 3.8513, 3.9323, 3.4719, 3.7498, 4.2830, 3.5694, 4.2467, 3.9037,
      3.2947, 5.0770, 3.5075, 3.2700, 3.4767, 2.8063, 5.1125, 3.5327, 4.7833, 3.1286, 4.1819,
      3.8527, 3.8312, 3.5605, 4.3875, 3.9624, 4.0168, 3.5643, 4.0550, 5.5614, 4.2963, 4.4080,
      3.4959, 3.8747, 3.7608, 3.5735, 3.1490, 3.7662, 3.6746, 3.4563, 3.8161};

  static void visit(auto& self, auto& v) {
    v("base_dim", self.base_dim);
    v("decoder_base_dim", self.decoder_base_dim);
    v("z_dim", self.z_dim);
    v("dim_mult", self.dim_mult);
    v("num_res_blocks", self.num_res_blocks);
    v("temperal_downsample", self.temperal_downsample);
    v("in_channels", self.in_channels);
    v("out_channels", self.out_channels);
    v("latents_mean", self.latents_mean);
    v("latents_std", self.latents_std);
    v.only("attn_scales", {Json::array()});
    v.only("is_residual", {true});
    v.only("patch_size", {1});
    // The second is of the reference's tiles; its pipelines go by the levels, as this one does.
    v.ignore({"dropout", "scale_factor_temporal", "scale_factor_spatial"});
  }

  // Channels by level, from the image's resolution down.
  std::vector<int64_t> encoder_channels() const { return channels(base_dim); }
  std::vector<int64_t> decoder_channels() const {
    return channels(decoder_base_dim.value_or(base_dim));
  }

 private:
  std::vector<int64_t> channels(int64_t of_one) const {
    std::vector<int64_t> all;
    for (int64_t times : dim_mult) all.push_back(of_one * times);
    return all;
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
AutoencoderKLQwenImage21Config read_autoencoder_kl_qwen_image21_config(const Json& json,
                                                                       const std::string& where);

}  // namespace omnirt
