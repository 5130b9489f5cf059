#pragma once
#include "nn/layers.hpp"

namespace omnirt::nn {

// A perceptron that is not gated, under the names of diffusers' attention.py FeedForward with
// activation_fn "gelu-approximate": net.0.proj, net.2.
class GeluFeedForward final : public Module {
 public:
  // dim -> inner -> dim.
  GeluFeedForward(Module* parent, const std::string& name, int64_t dim, int64_t inner);
  const char* class_name() const override { return "FeedForward"; }
  SiteKind site_kind() const override { return SiteKind::feed_forward; }
  // x {B, T, dim}; as x.
  Tensor forward(Context& cx, const Tensor& x) const;

  struct Net final : Module {
    Net(Module* parent, const std::string& name, int64_t dim, int64_t inner);
    struct Projection final : Module {
      Projection(Module* parent, const std::string& name, int64_t dim, int64_t inner);
      const char* class_name() const override { return "GELU"; }
      Linear proj;
    };
    Projection in;
    Linear out;
  };
  Net net;
};

}  // namespace omnirt::nn
