#pragma once
#include <array>

#include "nn/layers.hpp"

namespace omnirt::nn {

// A convolution of stride 2. Padding 0 means one row below and one column to the right, as the
// reference has it (diffusers downsampling.py Downsample2D).
class Downsample2D final : public Module {
 public:
  Downsample2D(Module* parent, const std::string& name, int64_t channels, int64_t padding);
  const char* class_name() const override { return "Downsample2D"; }
  Tensor forward(Context& cx, const Tensor& x) const { return conv.forward(cx, x); }

  Conv2d conv;
};

// Nearest-neighbour upsampling and a convolution, in one op (diffusers upsampling.py Upsample2D).
class Upsample2D final : public Module {
 public:
  Upsample2D(Module* parent, const std::string& name, int64_t channels);
  const char* class_name() const override { return "Upsample2D"; }
  // To twice the size of x.
  Tensor forward(Context& cx, const Tensor& x) const;
  // To {height, width}: where a skip connection of odd size waits.
  Tensor forward(Context& cx, const Tensor& x, std::array<int64_t, 2> size) const;

  Conv2d conv;
};

}  // namespace omnirt::nn
