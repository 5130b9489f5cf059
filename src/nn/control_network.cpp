#include "nn/control_network.hpp"

#include <algorithm>

namespace omnirt::nn {

size_t blocks_with_residual(ResidualOrder order, size_t blocks, size_t count) {
  return order == ResidualOrder::leading ? std::min(blocks, count) : blocks;
}

size_t residual_of(ResidualOrder order, size_t block, size_t blocks, size_t count) {
  ensure(count > 0 && block < blocks, "block {} of {}, and {} residuals", block, blocks, count);
  switch (order) {
    case ResidualOrder::repeated:
      return block % count;
    case ResidualOrder::even:
      // In the reference's own arithmetic, whose quotients are rounded.
      return std::min(count - 1, static_cast<size_t>(
                                     static_cast<double>(block) /
                                     (static_cast<double>(blocks) / static_cast<double>(count))));
    case ResidualOrder::leading:
      return block;
    case ResidualOrder::intervals:
      break;
  }
  return block / ((blocks + count - 1) / count);
}

Values ControlNetwork::control(Context&, const Values&) const {
  ensure(false, "a {} makes its residuals block by block", class_name());
  return {};
}

Tensor ControlNetwork::hint(Context&, const Values&, size_t) const {
  ensure(false, "a {} makes all residuals at once", class_name());
  return {};
}

}  // namespace omnirt::nn
