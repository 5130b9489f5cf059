#pragma once
#include "runtime/context.hpp"

namespace omnirt::nn {

// {B, C, H, W} -> {B, H W, C}: a view where x is channels-last, else a copy.
Tensor tokens_of(const Tensor& x);
// {B, H W, C} -> {B, C, H, W}, channels-last: a view.
Tensor image_of(const Tensor& tokens, int64_t height, int64_t width);
// x as this execution computes: its dtype, and channels-last where weights are so. For the few
// small tensors that enter a network; x itself where it is in that form already.
Tensor in_form(const Context& cx, const Tensor& x);
// Angles of positions {T, axes}, {2, T, sum of axes / 2}: those of diffusers' transformers,
// computed in fp64.
Tensor rope_table(Context& cx, const Tensor& positions, const std::vector<int64_t>& axes,
                  double theta);
// For ops that take null where there is no tensor.
inline const Tensor* null_if_undefined(const Tensor& x) {
  return x.defined() ? &x : nullptr;
}

}  // namespace omnirt::nn
