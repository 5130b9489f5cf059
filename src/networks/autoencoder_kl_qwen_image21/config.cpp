#include "networks/autoencoder_kl_qwen_image21/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "networks/autoencoder_kl_qwen_image21/shortcuts.hpp"
#include "nn/config_check.hpp"

namespace omnirt {
namespace {

// Shortcuts take channels together, or apart, as these numbers let them.
void check_qwen_image21_shortcuts(nn::ConfigCheck& check,
                                  const AutoencoderKLQwenImage21Config& config) {
  const std::vector<int64_t> down = config.encoder_channels(), up = config.decoder_channels();
  int64_t in = config.base_dim;
  for (size_t level = 0; level < down.size(); ++level) {
    const bool halved = level + 1 < down.size();
    check.expect(
        shortens(in, down[level], halved, halved && config.temperal_downsample[level]), "dim_mult",
        fmt::format("{} channels of {}", down[level], in),
        fmt::format("the shortcut of level {} of the encoder is not implemented for them", level));
    in = down[level];
  }
  in = up.back();
  for (size_t level = up.size(); level-- > 1;) {
    check.expect(
        lengthens(in, up[level], config.temperal_downsample[level - 1]), "dim_mult",
        fmt::format("{} channels of {}", up[level], in),
        fmt::format("the shortcut of level {} of the decoder is not implemented for them", level));
    in = up[level];
  }
}

void check_qwen_image21_latents(nn::ConfigCheck& check,
                                const AutoencoderKLQwenImage21Config& config) {
  for (const auto& [name, values] : {std::pair{"latents_mean", &config.latents_mean},
                                     std::pair{"latents_std", &config.latents_std}}) {
    check.expect(values->size() == static_cast<size_t>(config.z_dim), name,
                 fmt::format("{} values", values->size()),
                 fmt::format("the latents have {} channels", config.z_dim));
  }
  check.expect(std::ranges::all_of(config.latents_std, [](double each) { return each > 0; }),
               "latents_std", "0 or less", "latents are divided by it");
}

}  // namespace

AutoencoderKLQwenImage21Config read_autoencoder_kl_qwen_image21_config(const Json& json,
                                                                       const std::string& where) {
  auto config = read_config<AutoencoderKLQwenImage21Config>(json, where);
  nn::ConfigCheck check(where);
  check.range("base_dim", config.base_dim, 1, 1 << 12);
  check.range("decoder_base_dim", config.decoder_base_dim.value_or(1), 1, 1 << 12);
  check.range("z_dim", config.z_dim, 1, 1 << 10);
  check.range("num_res_blocks", config.num_res_blocks, 1, 16);
  check.range("in_channels", config.in_channels, 3, 4);
  check.expect(config.out_channels == config.in_channels, "out_channels",
               std::to_string(config.out_channels),
               fmt::format("images that are read have {} channels", config.in_channels));
  check.length("dim_mult", config.dim_mult.size(), 8);
  for (int64_t times : config.dim_mult) check.range("dim_mult", times, 1, 64);
  check.expect(config.temperal_downsample.size() + 1 == config.dim_mult.size(),
               "temperal_downsample", fmt::format("{} values", config.temperal_downsample.size()),
               "one is expected between each two levels of dim_mult");
  check_qwen_image21_latents(check, config);
  if (check.ok()) check_qwen_image21_shortcuts(check, config);
  check.finish();
  return config;
}

}  // namespace omnirt
