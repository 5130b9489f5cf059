#pragma once
#include <optional>

#include "nn/layers.hpp"

namespace omnirt::nn {

struct ResnetOptions {
  int64_t in = 0;
  int64_t out = 0;
  int64_t temb = 0;  // channels of the time embedding; 0: the block takes none
  int64_t groups = 32;
  double eps = 1e-6;
  ops::Activation activation = ops::Activation::silu;
  bool scale_shift = false;          // the time embedding scales and shifts, instead of being added
  double output_scale_factor = 1.0;  // the sum with the residual is divided by this
};

// Two convolutions with a residual, conditioned on time (diffusers resnet.py ResnetBlock2D).
class ResnetBlock2D final : public Module {
 public:
  ResnetBlock2D(Module* parent, const std::string& name, const ResnetOptions& options);
  const char* class_name() const override { return "ResnetBlock2D"; }
  // x {B, in, H, W}; temb {B, temb}, already activated (every block activates the same one), null
  // where the block takes none; {B, out, H, W}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor* temb) const;

  GroupNorm norm1;
  Conv2d conv1;
  std::optional<Linear> time_emb_proj;
  GroupNorm norm2;
  Conv2d conv2;
  std::optional<Conv2d> conv_shortcut;  // where in and out differ

 private:
  Tensor convolved(Context& cx, const Tensor& x, const Tensor* time) const;
  Tensor modulated(Context& cx, const Tensor& h, const Tensor& time) const;
  // conv2 of h plus the residual; `normed`: h is what norm2 and the activation have made already.
  Tensor joined(Context& cx, const Tensor& h, const Tensor& x, bool normed) const;
  ResnetOptions options_;
};

}  // namespace omnirt::nn
