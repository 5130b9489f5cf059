#include "images.hpp"
#include "ops.hpp"

namespace omnirt::torch_ops {
namespace {

constexpr const char* op = "group_norm";

}  // namespace

Tensor group_norm(const Tensor& x, int64_t groups, const MaybeTensor& weight,
                  const MaybeTensor& bias, double eps, int64_t activation) {
  Argument(op, "x", x).dims(3, 4).fp32();
  const Norm norm = checked_norm(op, x, groups, weight, bias, eps, activation);
  const int64_t batch = x.size(0), channels = x.size(1), last = x.size(2);
  if (x.dim() == 4) {
    const Tensor rows = in_channels_last(x);
    const Tensor y = new_channels_last(batch, channels, last, x.size(3));
    norm.run(floats(rows), written_floats(y));
    return y;
  }
  // {B, C, T}: rows of channels lie one after the other in the order {B, T, C}.
  const Tensor rows = torch::stable::contiguous(torch::stable::transpose(x, 1, 2));
  const Tensor y = new_tensor({batch, channels, last}, {last * channels, 1, channels});
  norm.run(floats(rows), written_floats(y));
  return y;
}

}  // namespace omnirt::torch_ops
