#include "nn/denoiser_network.hpp"

#include <algorithm>

#include "nn/layout.hpp"

namespace omnirt::nn {

Tensor with_residual(Context& cx, const Tensor& x, const Tensor& residual) {
  ensure(residual.sizes() == x.sizes(), "a residual of {} tokens for {} of a block",
         residual.size(1), x.size(1));
  return cx.ops().add(cx, {x, in_form(cx, residual)});
}

Tensor DenoiserNetwork::image_tokens(Context& /*cx*/, const Values& /*inputs*/) const {
  ensure(false, "{} lends no tokens to ControlNets", class_name());
  return {};
}

std::vector<NetworkInput> only_where(bool present, const std::vector<std::string>& some,
                                     std::vector<NetworkInput> names) {
  std::erase_if(names, [&](const NetworkInput& input) {
    return !present && std::ranges::find(some, input.name) != some.end();
  });
  return names;
}

std::vector<NetworkInput> required_where(bool present, const std::vector<std::string>& some,
                                         std::vector<NetworkInput> names) {
  names = only_where(present, some, std::move(names));
  for (NetworkInput& input : names)
    input.required |= std::ranges::find(some, input.name) != some.end();
  return names;
}

Tensor each_row(Context& cx, const Value& value) {
  if (value.rows().empty()) return value.tensor();
  return cx.once_in_rows("each row", value.rows(), value.tensor(), [&] {
    return cx.ops().take_rows(cx, {value.tensor(), value.rows()});
  });
}

}  // namespace omnirt::nn
