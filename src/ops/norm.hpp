#pragma once
#include "ops/activation.hpp"
#include "ops/op.hpp"

namespace omnirt::ops {

// y = act(group_norm(x) * weight + bias). x {B, C, ...}, weight and bias {C} (Wu & He 2018, arXiv
// 1803.08494).
struct GroupNorm {
  static constexpr const char* name = "group_norm";
  static constexpr const char* summary = "y = act(group_norm(x) * weight + bias)";
  const Tensor& x;
  const Tensor* weight;  // null: no affine part
  const Tensor* bias;
  int64_t groups;
  double eps;
  Activation activation = Activation::none;
  static Shape shape(const GroupNorm& args) { return args.x.sizes().vec(); }
  static Tensor reference(const GroupNorm& args);
  static bool fits(const GroupNorm& args);
  static Samples<GroupNorm> samples();
};

// y = layer_norm(x) * weight + bias over the last dimension. x {..., D}, weight and bias {D}.
struct LayerNorm {
  static constexpr const char* name = "layer_norm";
  static constexpr const char* summary = "y = layer_norm(x) * weight + bias";
  const Tensor& x;
  const Tensor* weight;
  const Tensor* bias;
  double eps;
  static Shape shape(const LayerNorm& args) { return args.x.sizes().vec(); }
  static Tensor reference(const LayerNorm& args);
  static bool fits(const LayerNorm& args);
  static Samples<LayerNorm> samples();
};

// y = x / sqrt(mean(x^2) + eps) * weight over the last dimension, the mean in fp32 whatever the
// dtype (Zhang & Sennrich 2019, arXiv 1910.07467; transformers T5LayerNorm). x {..., D}, weight
// {D}.
struct RmsNorm {
  static constexpr const char* name = "rms_norm";
  static constexpr const char* summary = "y = x / sqrt(mean(x^2) + eps) * weight";
  const Tensor& x;
  const Tensor& weight;
  double eps;
  static Shape shape(const RmsNorm& args) { return args.x.sizes().vec(); }
  static Tensor reference(const RmsNorm& args);
  static bool fits(const RmsNorm& args);
  static Samples<RmsNorm> samples();
};

// Batch norm at inference, without an affine part, and its inverse: y = (x - mean) / sqrt(variance
// + eps), or y = x sqrt(variance + eps) + mean, by channels; in fp32 whatever the dtype (Ioffe &
// Szegedy 2015, arXiv 1502.03167; diffusers AutoencoderKLFlux2.bn). x {B, C, ...}, mean and
// variance {C}.
struct BatchNorm {
  static constexpr const char* name = "batch_norm";
  static constexpr const char* summary = "y = (x - mean) / sqrt(variance + eps), or its inverse";
  const Tensor& x;
  const Tensor& mean;
  const Tensor& variance;
  double eps;
  bool inverse = false;
  static Shape shape(const BatchNorm& args) { return args.x.sizes().vec(); }
  static Tensor reference(const BatchNorm& args);
  static bool fits(const BatchNorm& args);
  static Samples<BatchNorm> samples();
};

}  // namespace omnirt::ops
