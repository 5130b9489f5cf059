#include "nn/z_image_transformer_2d_config.hpp"

#include <fmt/format.h>

#include <numeric>

#include "nn/config_check.hpp"

namespace omnirt {
namespace {

// Positions have three axes: time (of texts: place), row, column.
constexpr size_t z_image_axes = 3;

void check_z_image_axes(const ZImageTransformer2DConfig& config, nn::ConfigCheck& check) {
  for (auto [name, list] :
       {std::pair{"axes_dims", &config.axes_dims}, std::pair{"axes_lens", &config.axes_lens}}) {
    check.expect(list->size() == z_image_axes, name, fmt::format("{} values", list->size()),
                 fmt::format("tokens have positions on {} axes", z_image_axes));
    for (int64_t value : *list) check.range(name, value, 2, 1 << 20);
  }
  for (int64_t axis : config.axes_dims)
    check.divisible("axes_dims", axis, "pairs that turn together", 2);
  if (!check.ok()) return;
  int64_t sum = std::accumulate(config.axes_dims.begin(), config.axes_dims.end(), int64_t{0});
  check.expect(sum == config.head_dim(), "axes_dims", std::to_string(sum),
               fmt::format("heads are {} wide", config.head_dim()),
               "the axes' sum must be dim / n_heads");
}

}  // namespace

ZImageTransformer2DConfig read_z_image_transformer_2d_config(const Json& json,
                                                             const std::string& where) {
  auto config = read_config<ZImageTransformer2DConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("in_channels", config.in_channels, 1, 1 << 12);
  check.range("dim", config.dim, 1, 1 << 16);
  check.range("n_layers", config.n_layers, 0, 512);
  check.range("n_refiner_layers", config.n_refiner_layers, 0, 512);
  check.range("n_heads", config.n_heads, 1, 1 << 10);
  check.range("cap_feat_dim", config.cap_feat_dim, 1, 1 << 17);
  if (config.siglip_feat_dim) check.range("siglip_feat_dim", *config.siglip_feat_dim, 1, 1 << 17);
  check.positive("norm_eps", config.norm_eps);
  check.positive("rope_theta", config.rope_theta);
  check.positive("t_scale", config.t_scale);
  if (check.ok()) check.divisible("dim", config.dim, "n_heads", config.n_heads);
  check_z_image_axes(config, check);
  check.finish();
  return config;
}

}  // namespace omnirt
