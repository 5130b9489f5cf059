#include "nn/blocks/gelu_feed_forward.hpp"

namespace omnirt::nn {

GeluFeedForward::Net::Projection::Projection(Module* parent, const std::string& name, int64_t dim,
                                             int64_t inner)
    : Module(parent, name), proj(this, "proj", dim, inner) {}

GeluFeedForward::Net::Net(Module* parent, const std::string& name, int64_t dim, int64_t inner)
    : Module(parent, name), in(this, "0", dim, inner), out(this, "2", inner, dim) {}

GeluFeedForward::GeluFeedForward(Module* parent, const std::string& name, int64_t dim,
                                 int64_t inner)
    : Module(parent, name), net(this, "net", dim, inner) {}

Tensor GeluFeedForward::forward(Context& cx, const Tensor& x) const {
  return net.out.forward(cx, net.in.proj.forward(cx, x, ops::Activation::gelu_tanh));
}

}  // namespace omnirt::nn
