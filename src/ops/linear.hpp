#pragma once
#include "ops/activation.hpp"
#include "ops/op.hpp"
#include "ops/packing.hpp"

namespace omnirt::ops {

// y = act(x weight^T + bias + residual). x {..., in}, weight {out, in}, bias {out}, residual and y
// {..., out}. The weight may be stored in a narrower type than x is computed in (fp16 or bf16 next
// to fp32); it is widened, exactly.
struct Linear {
  static constexpr const char* name = "linear";
  static constexpr const char* summary = "y = act(x weight^T + bias + residual)";
  const Tensor& x;
  const Tensor& weight;
  const Tensor* bias = nullptr;
  Activation activation = Activation::none;
  const Tensor* residual = nullptr;
  PackSlot* pack = nullptr;  // where kernels keep further forms of the weight; null: nowhere
  static Shape shape(const Linear& args);
  static Tensor reference(const Linear& args);
  static bool fits(const Linear& args);
  static Linear with_weight(const Linear& args, const Tensor& weight) {
    return {args.x, weight, args.bias, args.activation, args.residual, args.pack};
  }
  static Samples<Linear> samples();
};

// y = a * gelu(b), where a and b are the halves of x weight^T + bias (Shazeer 2020, arXiv
// 2002.05202). x {..., in}, weight {2 out, in}, bias {2 out}; y {..., out}.
struct GatedLinear {
  static constexpr const char* name = "gated_linear";
  static constexpr const char* summary = "y = a * gelu(b), the halves of x weight^T + bias";
  const Tensor& x;
  const Tensor& weight;
  const Tensor* bias = nullptr;
  PackSlot* pack = nullptr;
  static Shape shape(const GatedLinear& args);
  static Tensor reference(const GatedLinear& args);
  static bool fits(const GatedLinear& args);
  static GatedLinear with_weight(const GatedLinear& args, const Tensor& weight) {
    return {args.x, weight, args.bias, args.pack};
  }
  static Samples<GatedLinear> samples();
};

}  // namespace omnirt::ops
