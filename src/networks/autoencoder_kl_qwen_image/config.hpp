#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/config.hpp"

namespace omnirt {

// config.json of AutoencoderKLQwenImage; defaults are those of diffusers' class.
struct AutoencoderKLQwenImageConfig {
  int64_t base_dim = 96;
  int64_t z_dim = 16;
  std::vector<int64_t> dim_mult{1, 2, 4, 4};
  int64_t num_res_blocks = 2;
  std::vector<bool> temperal_downsample{false, true, true};
  int64_t input_channels = 3;
  std::vector<double> latents_mean{-0.7571, -0.7089, -0.9113, 0.1075,  -0.1745, 0.9653,
                                   -0.1517, 1.5508,  0.4134,  -0.0715, 0.5517,  -0.3632,
                                   -0.1922, -0.9497, 0.2503,  -0.2921};
  std::vector<double> latents_std{2.8184, 1.4541, 2.3275, 2.6558, 1.2196, 1.7708, 2.6052, 2.0743,
                                  3.2687, 2.1526, 2.8652, 1.5579, 1.6382, 1.1253, 2.8251, 1.9160};

  static void visit(auto& self, auto& v) {
    v("base_dim", self.base_dim);
    v("z_dim", self.z_dim);
    v("dim_mult", self.dim_mult);
    v("num_res_blocks", self.num_res_blocks);
    v("temperal_downsample", self.temperal_downsample);
    v("input_channels", self.input_channels);
    v("latents_mean", self.latents_mean);
    v("latents_std", self.latents_std);
    v.only("attn_scales", {Json::array()});
    v.ignore({"dropout"});
  }

  // Channels by level, from the image's resolution down.
  std::vector<int64_t> channels() const {
    std::vector<int64_t> all;
    for (int64_t times : dim_mult) all.push_back(base_dim * times);
    return all;
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
AutoencoderKLQwenImageConfig read_autoencoder_kl_qwen_image_config(const Json& json,
                                                                   const std::string& where);

}  // namespace omnirt
