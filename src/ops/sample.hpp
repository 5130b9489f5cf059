#pragma once
#include "ops/op.hpp"

namespace omnirt::ops {

// A draw from the normal distribution of an autoencoder's encoder (Kingma & Welling 2013, arXiv
// 1312.6114; diffusers vae.py DiagonalGaussianDistribution): y = x + exp(logvar / 2) * noise, the
// logarithm of the variance limited to -30..20. x (the mean) and logvar {B, C, H, W}
// or one row for all of noise's, noise and y {B, C, H, W}.
struct GaussianSample {
  static constexpr const char* name = "gaussian_sample";
  static constexpr const char* summary = "y = x + exp(logvar / 2) * noise";
  const Tensor& x;
  const Tensor& logvar;
  const Tensor& noise;
  static Shape shape(const GaussianSample& args) { return args.noise.sizes().vec(); }
  static Tensor reference(const GaussianSample& args);
  static bool fits(const GaussianSample& args);
  static Samples<GaussianSample> samples();
};

// The state at one token of each row: x {B, T, D}, ids {B, T} int64; y {B, D}. The token is the
// first that equals `token`, or the largest id where `largest` (transformers modeling_clip.py: how
// configs with the historical end token 2 are read). A row without the token gives its first state.
struct StateAtToken {
  static constexpr const char* name = "state_at_token";
  static constexpr const char* summary = "the state at one token of each row";
  const Tensor& x;
  const Tensor& ids;
  int64_t token;
  bool largest;
  static Shape shape(const StateAtToken& args) { return {args.x.size(0), args.x.size(2)}; }
  static Tensor reference(const StateAtToken& args);
  static bool fits(const StateAtToken& args);
  static Samples<StateAtToken> samples();
};

}  // namespace omnirt::ops
