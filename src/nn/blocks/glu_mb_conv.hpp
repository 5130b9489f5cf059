#pragma once
#include <optional>

#include "nn/layers.hpp"
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

// RMSNorm over the channels of an image, with a bias: weight {C}, bias {C} (diffusers
// normalization.py RMSNorm).
class BiasedRmsNorm final : public Module {
 public:
  BiasedRmsNorm(Module* parent, const std::string& name, int64_t channels, double eps);
  const char* class_name() const override { return "RMSNorm"; }
  // {B, C, H, W}, channels-last; plus `residual`, if any.
  Tensor forward(Context& cx, const Tensor& x, const Tensor* residual = nullptr) const;

  Param weight, bias;

 private:
  double eps_;
};

// A perceptron that mixes channels in `hidden`, where each also sees its neighbours (Xie et al.
// 2024, arXiv 2410.10629, 2.2; diffusers sana_transformer.py GLUMBConv).
class GluMbConv final : public Module {
 public:
  struct Options {
    int64_t channels = 0;
    int64_t hidden = 0;
    bool norm = false;  // and the input added to the result
  };
  GluMbConv(Module* parent, const std::string& name, const Options& options);
  const char* class_name() const override { return "GLUMBConv"; }
  SiteKind site_kind() const override { return SiteKind::feed_forward; }
  // {B, C, H, W}; {B, C, H, W}, channels-last.
  Tensor forward(Context& cx, const Tensor& x) const;

  Conv2d conv_inverted;
  GroupedConv2d conv_depth;
  Conv2d conv_point;
  std::optional<BiasedRmsNorm> norm;
};

}  // namespace omnirt::nn
