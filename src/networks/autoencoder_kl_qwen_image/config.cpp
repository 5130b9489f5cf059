#include "networks/autoencoder_kl_qwen_image/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nn/config_check.hpp"

namespace omnirt {

AutoencoderKLQwenImageConfig read_autoencoder_kl_qwen_image_config(const Json& json,
                                                                   const std::string& where) {
  auto config = read_config<AutoencoderKLQwenImageConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("base_dim", config.base_dim, 2, 1 << 12);
  check.divisible("base_dim", config.base_dim, "the halves of an upsampler", 2);
  check.range("z_dim", config.z_dim, 1, 1 << 10);
  check.range("num_res_blocks", config.num_res_blocks, 1, 16);
  // An image has three; models of layers with a fourth, alpha, are not implemented.
  check.range("input_channels", config.input_channels, 3, 4);
  check.length("dim_mult", config.dim_mult.size(), 8);
  for (int64_t times : config.dim_mult) check.range("dim_mult", times, 1, 64);
  check.expect(config.temperal_downsample.size() + 1 == config.dim_mult.size(),
               "temperal_downsample", fmt::format("{} values", config.temperal_downsample.size()),
               "one is expected between each two levels of dim_mult");
  for (const auto& [name, values] : {std::pair{"latents_mean", &config.latents_mean},
                                     std::pair{"latents_std", &config.latents_std}}) {
    check.expect(values->size() == static_cast<size_t>(config.z_dim), name,
                 fmt::format("{} values", values->size()),
                 fmt::format("the latents have {} channels", config.z_dim));
  }
  check.expect(std::ranges::all_of(config.latents_std, [](double each) { return each > 0; }),
               "latents_std", "0 or less", "latents are divided by it");
  check.finish();
  return config;
}

}  // namespace omnirt
