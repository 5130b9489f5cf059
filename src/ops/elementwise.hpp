#pragma once
#include "ops/op.hpp"

namespace omnirt::ops {

// y = (x + other) * scale; `other` broadcasts against x.
struct Add {
  static constexpr const char* name = "add";
  static constexpr const char* summary = "y = (x + other) * scale";
  const Tensor& x;
  const Tensor& other;
  double scale = 1.0;
  static Shape shape(const Add& args) { return args.x.sizes().vec(); }
  static Tensor reference(const Add& args);
  static bool fits(const Add& args);
  static Samples<Add> samples();
};

// {B, C1, ..} and {B, C2, ..} joined along dimension 1: {B, C1 + C2, ..}.
struct Concat {
  static constexpr const char* name = "concat";
  static constexpr const char* summary = "x and other joined along their channels";
  const Tensor& x;
  const Tensor& other;
  static Shape shape(const Concat& args);
  static Tensor reference(const Concat& args);
  static bool fits(const Concat& args);
  static Samples<Concat> samples();
};

// y = x * (1 + scale) + shift, both broadcast against x: {B, C, H, W} with {B, C, 1, 1} in the
// scale_shift form of time embeddings, {B, T, D} with {B, 1, D} in adaptive layer norms.
struct Modulate {
  static constexpr const char* name = "modulate";
  static constexpr const char* summary = "y = x * (1 + scale) + shift";
  const Tensor& x;
  const Tensor& scale;
  const Tensor& shift;
  static Shape shape(const Modulate& args) { return args.x.sizes().vec(); }
  static Tensor reference(const Modulate& args);
  static bool fits(const Modulate& args);
  static Samples<Modulate> samples();
};

// y = x * gate + residual; `gate` broadcasts against x ({B, 1, D} against {B, T, D}), residual as
// x.
struct Gate {
  static constexpr const char* name = "gate";
  static constexpr const char* summary = "y = x * gate + residual";
  const Tensor& x;
  const Tensor& gate;
  const Tensor* residual = nullptr;
  static Shape shape(const Gate& args) { return args.x.sizes().vec(); }
  static Tensor reference(const Gate& args);
  static bool fits(const Gate& args);
  static Samples<Gate> samples();
};

// Mean over non-overlapping windows of `size` x `size`; {B, C, H, W} -> {B, C, H / size, W / size}.
struct AvgPool2d {
  static constexpr const char* name = "avg_pool2d";
  static constexpr const char* summary = "mean over windows";
  const Tensor& x;
  int64_t size;
  static Shape shape(const AvgPool2d& args);
  static Tensor reference(const AvgPool2d& args);
  static bool fits(const AvgPool2d& args);
  static Samples<AvgPool2d> samples();
};

// Nearest-neighbour resize to {height, width}.
struct UpsampleNearest {
  static constexpr const char* name = "upsample_nearest";
  static constexpr const char* summary = "nearest-neighbour resize";
  const Tensor& x;
  int64_t height;
  int64_t width;
  static Shape shape(const UpsampleNearest& args) {
    return {args.x.size(0), args.x.size(1), args.height, args.width};
  }
  static Tensor reference(const UpsampleNearest& args);
  static bool fits(const UpsampleNearest& args);
  static Samples<UpsampleNearest> samples();
};

// y = tanh(x / bound) * bound: how tiny autoencoders hold their latents (github madebyollin/taesd).
struct SoftClamp {
  static constexpr const char* name = "soft_clamp";
  static constexpr const char* summary = "y = tanh(x / bound) * bound";
  const Tensor& x;
  double bound;
  static Shape shape(const SoftClamp& args) { return args.x.sizes().vec(); }
  static Tensor reference(const SoftClamp& args);
  static bool fits(const SoftClamp& args);
  static Samples<SoftClamp> samples();
};

// y = x * scale + shift.
struct Affine {
  static constexpr const char* name = "affine";
  static constexpr const char* summary = "y = x * scale + shift";
  const Tensor& x;
  double scale;
  double shift;
  static Shape shape(const Affine& args) { return args.x.sizes().vec(); }
  static Tensor reference(const Affine& args);
  static bool fits(const Affine& args);
  static Samples<Affine> samples();
};

}  // namespace omnirt::ops
