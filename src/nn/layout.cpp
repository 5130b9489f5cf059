#include "nn/layout.hpp"

namespace omnirt::nn {

Tensor tokens_of(const Tensor& x) {
  return x.permute({0, 2, 3, 1}).reshape({x.size(0), x.size(2) * x.size(3), x.size(1)});
}

Tensor image_of(const Tensor& tokens, int64_t height, int64_t width) {
  return tokens.view({tokens.size(0), height, width, tokens.size(2)}).permute({0, 3, 1, 2});
}

Tensor in_form(const Context& cx, const Tensor& x) {
  Tensor cast = x.to(cx.dtype());
  bool reorder = cx.form().channels_last && cast.dim() == 4;
  return reorder ? cast.contiguous(at::MemoryFormat::ChannelsLast) : cast;
}

Tensor rope_table(Context& cx, const Tensor& positions, const std::vector<int64_t>& axes,
                  double theta) {
  return cx.ops().rotary_table(
      cx, {.x = positions, .axes = axes, .theta = theta, .angles_in_fp64 = true});
}

}  // namespace omnirt::nn
