#pragma once
#include <vector>

#include "ops/op.hpp"

namespace omnirt::ops {

// Which two values of a head turn together (Su et al. 2021, arXiv 2104.09864).
enum class RotaryPairs {
  halves,      // i and i + d / 2, as in Llama and Qwen (transformers' rotate_half)
  neighbours,  // 2 i and 2 i + 1, as in FLUX (diffusers' apply_rotary_emb by default)
};

// The position of each token, as cosines and sines of the angles by which the pairs of its values
// turn. x {T, A} fp32: positions on A axes; axes[a] values of a head (an even number) belong to
// axis a, in order, and its pair i turns by x / theta^(2 i / axes[a]). y {2, T, D / 2} fp32, the
// cosines first, D the sum of the axes. Angles are taken in fp64 (diffusers
// get_1d_rotary_pos_embed for Flux2PosEmbed), or in fp32 (transformers Qwen3RotaryEmbedding).
struct RotaryTable {
  static constexpr const char* name = "rotary_table";
  static constexpr const char* summary = "cosines and sines of the angles of each token's position";
  const Tensor& x;
  std::vector<int64_t> axes;
  double theta;
  bool angles_in_fp64 = false;
  static Shape shape(const RotaryTable& args);
  static Tensor reference(const RotaryTable& args);
  static bool fits(const RotaryTable& args);
  static Samples<RotaryTable> samples();
};

// Turns the pairs (a, b) of each head's values by the angle of its token: (a cos - b sin, b cos + a
// sin), in fp32 whatever the dtype. x {B, T, heads, d}, table {2, T, d / 2} as RotaryTable makes
// it; y as x.
struct Rotary {
  static constexpr const char* name = "rotary";
  static constexpr const char* summary = "pairs of each head's values turned by their position";
  const Tensor& x;
  const Tensor& table;
  RotaryPairs pairs;
  static Shape shape(const Rotary& args) { return args.x.sizes().vec(); }
  static Tensor reference(const Rotary& args);
  static bool fits(const Rotary& args);
  static Samples<Rotary> samples();
};

}  // namespace omnirt::ops
