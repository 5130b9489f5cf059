#include "nn/denoiser_network.hpp"

#include "nn/layout.hpp"

namespace omnirt::nn {

Tensor with_residual(Context& cx, const Tensor& x, const std::vector<Tensor>& residuals,
                     size_t block) {
  if (residuals.empty()) return x;
  ensure(block < residuals.size() && residuals[block].sizes() == x.sizes(),
         "residual {} of {} does not fit {} tokens of a block", block, residuals.size(), x.size(1));
  return cx.ops().add(cx, {x, in_form(cx, residuals[block])});
}

Tensor DenoiserNetwork::image_tokens(Context& /*cx*/, const Values& /*inputs*/) const {
  ensure(false, "{} lends no tokens to ControlNets", class_name());
  return {};
}

Tensor each_row(Context& cx, const Value& value) {
  if (value.rows().empty()) return value.tensor();
  return cx.once_in_rows("each row", value.rows(), value.tensor(), [&] {
    return cx.ops().take_rows(cx, {value.tensor(), value.rows()});
  });
}

}  // namespace omnirt::nn
