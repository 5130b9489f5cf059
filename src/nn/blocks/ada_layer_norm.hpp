#pragma once
#include <vector>

#include "nn/blocks/gelu_feed_forward.hpp"
#include "nn/layers.hpp"

namespace omnirt::nn {

// Shift, scale and gate for one part of a block, {B, 1, D} each.
struct Modulation {
  Tensor shift, scale, gate;
};

// x {B, T, D}, normalised, scaled and shifted.
Tensor modulated_by(Context& cx, const LayerNorm& norm, const Tensor& x, const Modulation& by);
// x with what the perceptron makes of it, modulated, added to it; x where the perceptron is
// skipped.
Tensor through_perceptron(Context& cx, const LayerNorm& norm, const GeluFeedForward& perceptron,
                          const Tensor& x, const Modulation& by);

// A layer norm without weights, and what the timestep makes of shifts, scales and gates for `parts`
// parts of a block (Peebles & Xie 2022, arXiv 2212.09748; diffusers normalization.py
// AdaLayerNormZero with 2, AdaLayerNormZeroSingle with 1, SD35AdaLayerNormZeroX with 3).
class AdaLayerNormZero final : public Module {
 public:
  AdaLayerNormZero(Module* parent, const std::string& name, int64_t dim, int64_t parts, double eps,
                   bool bias = true);
  const char* class_name() const override { return "AdaLayerNormZero"; }
  // activated {B, D}: SiLU of the embedded timestep.
  std::vector<Modulation> modulations(Context& cx, const Tensor& activated) const;

  Linear linear;
  LayerNorm norm;
};

// A layer norm without weights whose scale and shift depend on the timestep (diffusers
// normalization.py AdaLayerNormContinuous).
class AdaLayerNormContinuous final : public Module {
 public:
  AdaLayerNormContinuous(Module* parent, const std::string& name, int64_t dim, double eps);
  const char* class_name() const override { return "AdaLayerNormContinuous"; }
  // x {B, T, D}, activated {B, D}: SiLU of the embedded timestep.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& activated) const;

  Linear linear;
  LayerNorm norm;
};

}  // namespace omnirt::nn
