#pragma once
#include "ops/op.hpp"

namespace omnirt::ops {

// y = (x + other) * scale; `other` broadcasts against x.
struct Add {
  static constexpr const char* name = "add";
  const Tensor& x;
  const Tensor& other;
  double scale = 1.0;
  static Shape shape(const Add& args) { return args.x.sizes().vec(); }
  static Tensor reference(const Add& args);
};

// {B, C1, ..} and {B, C2, ..} joined along dimension 1: {B, C1 + C2, ..}.
struct Concat {
  static constexpr const char* name = "concat";
  const Tensor& x;
  const Tensor& other;
  static Shape shape(const Concat& args);
  static Tensor reference(const Concat& args);
};

// y = x * (1 + scale) + shift, both broadcast against x: {B, C, H, W} with {B, C, 1, 1} in the
// scale_shift form of time embeddings, {B, T, D} with {B, 1, D} in adaptive layer norms.
struct Modulate {
  static constexpr const char* name = "modulate";
  const Tensor& x;
  const Tensor& scale;
  const Tensor& shift;
  static Shape shape(const Modulate& args) { return args.x.sizes().vec(); }
  static Tensor reference(const Modulate& args);
};

// y = x * gate + residual; `gate` broadcasts against x ({B, 1, D} against {B, T, D}), residual as
// x.
struct Gate {
  static constexpr const char* name = "gate";
  const Tensor& x;
  const Tensor& gate;
  const Tensor* residual = nullptr;
  static Shape shape(const Gate& args) { return args.x.sizes().vec(); }
  static Tensor reference(const Gate& args);
};

// Mean over non-overlapping windows of `size` x `size`; {B, C, H, W} -> {B, C, H / size, W / size}.
struct AvgPool2d {
  static constexpr const char* name = "avg_pool2d";
  const Tensor& x;
  int64_t size;
  static Shape shape(const AvgPool2d& args);
  static Tensor reference(const AvgPool2d& args);
};

// Nearest-neighbour resize to {height, width}.
struct UpsampleNearest {
  static constexpr const char* name = "upsample_nearest";
  const Tensor& x;
  int64_t height;
  int64_t width;
  static Shape shape(const UpsampleNearest& args) {
    return {args.x.size(0), args.x.size(1), args.height, args.width};
  }
  static Tensor reference(const UpsampleNearest& args);
};

// y = tanh(x / bound) * bound: how tiny autoencoders hold their latents (github madebyollin/taesd).
struct SoftClamp {
  static constexpr const char* name = "soft_clamp";
  const Tensor& x;
  double bound;
  static Shape shape(const SoftClamp& args) { return args.x.sizes().vec(); }
  static Tensor reference(const SoftClamp& args);
};

// y = x * scale + shift.
struct Affine {
  static constexpr const char* name = "affine";
  const Tensor& x;
  double scale;
  double shift;
  static Shape shape(const Affine& args) { return args.x.sizes().vec(); }
  static Tensor reference(const Affine& args);
};

}  // namespace omnirt::ops
