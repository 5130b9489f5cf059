#pragma once
#include <string>

#include "ops/activation_kind.hpp"
#include "ops/op.hpp"

namespace omnirt::ops {

// By the names that config files use ("silu", "swish", "gelu", "quick_gelu", ...). Throws
// Unsupported, naming `field`.
Activation activation_from_name(const std::string& name, const std::string& field);

// The plain maths; also the epilogue of linear, conv2d and group_norm.
Tensor activate(const Tensor& x, Activation kind);
// In place: for a result that the caller has just made.
Tensor activate_in_place(Tensor x, Activation kind);

// y = act(x), any shape.
struct Activate {
  static constexpr const char* name = "activate";
  static constexpr const char* summary = "y = act(x)";
  const Tensor& x;
  Activation kind;
  static Shape shape(const Activate& args) { return args.x.sizes().vec(); }
  static Tensor reference(const Activate& args) { return activate(args.x, args.kind); }
  static bool fits(const Activate& args);
  static Samples<Activate> samples();
};

// Gated GELU (Shazeer 2020, arXiv 2002.05202): x {..., 2 d} -> x[..., :d] * gelu(x[..., d:]), {...,
// d}.
struct Geglu {
  static constexpr const char* name = "geglu";
  static constexpr const char* summary = "y = a * gelu(b), the halves of x";
  const Tensor& x;
  static Shape shape(const Geglu& args);
  static Tensor reference(const Geglu& args);
  static bool fits(const Geglu& args);
  static Samples<Geglu> samples();
};

// Gated SiLU (Shazeer 2020, arXiv 2002.05202; diffusers Flux2SwiGLU): x {..., 2 d} -> silu(x[...,
// :d]) * x[..., d:], {..., d}. The first half is the gate, unlike Geglu's.
struct Swiglu {
  static constexpr const char* name = "swiglu";
  static constexpr const char* summary = "y = silu(a) * b, the halves of x";
  const Tensor& x;
  static Shape shape(const Swiglu& args);
  static Tensor reference(const Swiglu& args);
  static bool fits(const Swiglu& args);
  static Samples<Swiglu> samples();
};

}  // namespace omnirt::ops
