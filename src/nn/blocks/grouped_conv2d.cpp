#include "nn/blocks/grouped_conv2d.hpp"

namespace omnirt::nn {

GroupedConv2d::GroupedConv2d(Module* parent, const std::string& name, const Options& options)
    : Module(parent, name),
      weight(param("weight",
                   {options.out, options.in / options.groups, options.kernel, options.kernel})),
      bias(param("bias", {options.out}, options.bias)),
      groups_(options.groups) {
  own(weight);
  own(bias);
}

Tensor GroupedConv2d::forward(Context& cx, const Tensor& x) const {
  return cx.ops().grouped_conv2d(cx, {x, cx[weight], cx.maybe(bias), groups_});
}

}  // namespace omnirt::nn
