#pragma once
#include "nn/module.hpp"

namespace omnirt::nn {

// A convolution of stride 1 by groups of channels, with zeros around its input: weight {out, in /
// groups, k, k}, bias {out}.
class GroupedConv2d final : public Module {
 public:
  struct Options {
    int64_t in = 0, out = 0, groups = 1;
    int64_t kernel = 3;  // odd
    bool bias = true;
  };
  GroupedConv2d(Module* parent, const std::string& name, const Options& options);
  // {B, in, H, W} -> {B, out, H, W}.
  Tensor forward(Context& cx, const Tensor& x) const;

  Param weight, bias;

 private:
  int64_t groups_;
};

}  // namespace omnirt::nn
