#pragma once
#include <optional>

#include "ops/op.hpp"

namespace omnirt::ops {

// Rows of a table. x (indices) {..} int64, weight {V, D}; y {.., D}, in `dtype` where the table is
// stored in another. Indices must be within the table.
struct Embedding {
  static constexpr const char* name = "embedding";
  static constexpr const char* summary = "rows of a table";
  const Tensor& x;
  const Tensor& weight;
  std::optional<at::ScalarType> dtype = std::nullopt;
  PackSlot* pack = nullptr;  // of the table; null: none
  static const Tensor& like(const Embedding& args) { return args.weight; }
  static Shape shape(const Embedding& args);
  static Tensor reference(const Embedding& args);
  static bool fits(const Embedding& args);
  static Embedding with_weight(const Embedding& args, const Tensor& weight) {
    return {args.x, weight, args.dtype, args.pack};
  }
  static Samples<Embedding> samples();
};

// Sinusoidal embedding of timesteps (Ho et al. 2020, arXiv 2006.11239; diffusers
// embeddings.get_timestep_embedding). x {B} -> {B, dim} in fp32: [sin, cos] halves, or [cos, sin]
// when flip_sin_to_cos; a zero column ends an odd dim.
struct TimestepEmbedding {
  static constexpr const char* name = "timestep_embedding";
  static constexpr const char* summary = "sines and cosines of timesteps";
  const Tensor& x;
  int64_t dim;
  bool flip_sin_to_cos;
  double freq_shift;
  static Shape shape(const TimestepEmbedding& args) { return {args.x.size(0), args.dim}; }
  static Tensor reference(const TimestepEmbedding& args);
  static bool fits(const TimestepEmbedding& args);
  static Samples<TimestepEmbedding> samples();
};

}  // namespace omnirt::ops
