#pragma once
#include "ops/activation.hpp"
#include "ops/op.hpp"

namespace omnirt::ops {

// y = act(group_norm(x) * weight + bias). x {B, C, ...}, weight and bias {C} (Wu & He 2018, arXiv
// 1803.08494).
struct GroupNorm {
  static constexpr const char* name = "group_norm";
  const Tensor& x;
  const Tensor* weight;  // null: no affine part
  const Tensor* bias;
  int64_t groups;
  double eps;
  Activation activation = Activation::none;
  static Shape shape(const GroupNorm& args) { return args.x.sizes().vec(); }
  static Tensor reference(const GroupNorm& args);
};

// y = layer_norm(x) * weight + bias over the last dimension. x {..., D}, weight and bias {D}.
struct LayerNorm {
  static constexpr const char* name = "layer_norm";
  const Tensor& x;
  const Tensor* weight;
  const Tensor* bias;
  double eps;
  static Shape shape(const LayerNorm& args) { return args.x.sizes().vec(); }
  static Tensor reference(const LayerNorm& args);
};

}  // namespace omnirt::ops
