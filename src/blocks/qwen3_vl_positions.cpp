#include "blocks/qwen3_vl_positions.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <array>

#include "base/ensure.hpp"

namespace omnirt::blocks {
namespace {

// Of a token: time, row and column.
using TokenPlace = std::array<int64_t, 3>;

std::vector<TokenPlace> token_places(int64_t tokens, const std::vector<Qwen3VLImage>& images) {
  std::vector<TokenPlace> places;
  int64_t at = 0;
  auto text_until = [&](int64_t end) {
    for (; std::ssize(places) < end; ++at) places.push_back({at, at, at});
  };
  for (const Qwen3VLImage& image : images) {
    text_until(image.first);
    for (int64_t row = 0; row < image.rows; ++row)
      for (int64_t column = 0; column < image.columns; ++column)
        places.push_back({at, at + row, at + column});
    at += std::max(image.rows, image.columns);
  }
  text_until(tokens);
  ensure(std::ssize(places) == tokens, "{} places for {} tokens", places.size(), tokens);
  return places;
}

// Which of time, row and column each pair goes by.
std::vector<int64_t> axis_of_pairs(const Qwen3VLTextConfig& config) {
  std::vector<int64_t> axes(static_cast<size_t>(config.head_dim / 2), 0);
  for (size_t axis : {1, 2}) {
    const auto end = std::min(axes.size(), static_cast<size_t>(config.mrope_section[axis]) * 3);
    for (size_t pair = axis; pair < end; pair += 3) axes[pair] = static_cast<int64_t>(axis);
  }
  return axes;
}

}  // namespace

Tensor qwen3_vl_angles(const Qwen3VLTextConfig& config, int64_t tokens,
                       const std::vector<Qwen3VLImage>& images) {
  const std::vector<TokenPlace> places = token_places(tokens, images);
  Tensor by_axis = at::empty({tokens, 3}, at::kFloat);
  float* value = by_axis.mutable_data_ptr<float>();
  for (const TokenPlace& place : places)
    for (int64_t each : place) *value++ = static_cast<float>(each);
  // In fp32, as the reference has them.
  const Tensor exponent = at::arange(0, config.head_dim, 2, at::kFloat) / config.head_dim;
  const Tensor frequency = at::reciprocal(at::pow(config.rope_theta, exponent));
  const Tensor axes = at::tensor(axis_of_pairs(config), at::kLong);
  return by_axis.index_select(1, axes) * frequency;
}

}  // namespace omnirt::blocks
