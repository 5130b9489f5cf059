#pragma once
#include <array>

#include "nn/module.hpp"
#include "runtime/context.hpp"

namespace omnirt::nn {

// weight {out, in}, bias {out}.
class Linear final : public Module {
 public:
  Linear(Module* parent, const std::string& name, int64_t in, int64_t out, bool with_bias = true);
  // act(x weight^T + bias + residual); x {..., in}.
  Tensor forward(Context& cx, const Tensor& x, ops::Activation activation = ops::Activation::none,
                 const Tensor* residual = nullptr) const;
  // Of an input as the run gives it, in the form that this execution computes in; once per run
  // where the input lives so long.
  Tensor forward_once(Context& cx, const Tensor& x) const;
  int64_t in() const { return weight.shape[1]; }
  int64_t out() const { return weight.shape[0]; }

  Param weight, bias;
};

struct Conv2dOptions {
  int64_t kernel = 3;
  int64_t stride = 1;
  std::array<int64_t, 4> padding{1, 1, 1, 1};  // left, right, top, bottom
  bool bias = true;
};

// weight {C}, bias {C}; x {B, C, ...}.
class GroupNorm final : public Module {
 public:
  GroupNorm(Module* parent, const std::string& name, int64_t groups, int64_t channels, double eps);
  Tensor forward(Context& cx, const Tensor& x,
                 ops::Activation activation = ops::Activation::none) const;
  // The same as a part of a convolution that takes its result.
  ops::InputNorm spec(Context& cx, ops::Activation activation) const {
    return {cx.maybe(weight), cx.maybe(bias), groups_, eps_, activation};
  }

  Param weight, bias;

 private:
  int64_t groups_;
  double eps_;
};

// What goes along with a convolution.
struct ConvEpilogue {
  ops::Activation activation = ops::Activation::none;
  const Tensor* residual = nullptr;
  // {height, width} to upsample to before the convolution.
  std::array<int64_t, 2> upsample_to{0, 0};
  const Tensor* sample_bias = nullptr;  // {B, out}
  // Normalises and activates the input before anything else.
  const GroupNorm* norm = nullptr;
  ops::Activation norm_activation = ops::Activation::none;
  Tensor* into = nullptr;  // as in ops::Conv2d
};

// weight {out, in, k, k}, bias {out}; x {B, in, H, W}.
class Conv2d final : public Module {
 public:
  Conv2d(Module* parent, const std::string& name, int64_t in, int64_t out,
         Conv2dOptions options = {});
  Tensor forward(Context& cx, const Tensor& x, const ConvEpilogue& epilogue = {}) const;
  int64_t in() const { return weight.shape[1]; }
  int64_t out() const { return weight.shape[0]; }

  Param weight, bias;

 private:
  Conv2dOptions options_;
};

inline constexpr Conv2dOptions conv1x1{1, 1, {0, 0, 0, 0}, true};

// weight {D}, bias {D}, neither where `affine` is false; x {..., D}.
class LayerNorm final : public Module {
 public:
  LayerNorm(Module* parent, const std::string& name, int64_t dim, double eps, bool affine = true);
  Tensor forward(Context& cx, const Tensor& x) const;

  Param weight, bias;

 private:
  double eps_;
};

// weight {D}; x {..., D}.
class RmsNorm final : public Module {
 public:
  // `from_one`: the weight is counted from 1, as in Gemma's and Krea 2's checkpoints.
  RmsNorm(Module* parent, const std::string& name, int64_t dim, double eps, bool from_one = false);
  Tensor forward(Context& cx, const Tensor& x) const;

  Param weight;

 private:
  double eps_;
  bool from_one_;
};

// weight {V, D}; indices {..} int64.
class Embedding final : public Module {
 public:
  Embedding(Module* parent, const std::string& name, int64_t entries, int64_t dim);
  Tensor forward(Context& cx, const Tensor& indices) const;

  Param weight;
};

// Throws InvalidRequest where one of the ids is no row of a table of `vocab_size`. Values are
// checked where that does not wait for a device.
void check_token_ids(const Context& cx, const Tensor& ids, int64_t vocab_size);

}  // namespace omnirt::nn
