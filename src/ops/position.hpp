#pragma once
#include "ops/op.hpp"

namespace omnirt::ops {

// Adds to each token of an image its position, as sines and cosines of its row and column
// (Dosovitskiy et al. 2020, arXiv 2010.11929; diffusers embeddings.get_2d_sincos_pos_embed).
// x {B, height * width, D}, row by row; D a multiple of 4. The first half of a token's D values
// encodes its column, the second its row. Positions run over 0..base_size whatever the image's
// size, so that a network meets at every size the positions that it was trained on;
// interpolation_scale divides them.
struct AddPositions {
  static constexpr const char* name = "add_positions";
  static constexpr const char* summary = "y = x + sines and cosines of each token's row and column";
  const Tensor& x;
  int64_t height;
  int64_t width;
  int64_t base_size;
  double interpolation_scale;
  static Shape shape(const AddPositions& args) { return args.x.sizes().vec(); }
  static Tensor reference(const AddPositions& args);
  static bool fits(const AddPositions& args);
  static Samples<AddPositions> samples();
};

// What is added to attention scores for how far apart two tokens of a text are (Raffel et al. 2019,
// arXiv 1910.10683; transformers modeling_t5.T5Attention.compute_bias, both directions). x
// {buckets, heads}: half of the buckets serve keys before the query and half those after it; near
// distances have buckets of their own, farther ones share them by logarithm up to max_distance. y
// {B or 1, heads, length, length} in `dtype`; where `mask` {B, length} is 0 the key is kept from
// all queries.
struct RelativePositionBias {
  static constexpr const char* name = "relative_position_bias";
  static constexpr const char* summary =
      "what is added to attention scores by the distance of two tokens";
  const Tensor& x;
  int64_t length;
  int64_t max_distance;
  at::ScalarType dtype;
  const Tensor* mask = nullptr;
  static Shape shape(const RelativePositionBias& args);
  static Tensor reference(const RelativePositionBias& args);
  static bool fits(const RelativePositionBias& args);
  static Samples<RelativePositionBias> samples();
};

// Positions of the tokens of a text, then of an image, on four axes: time, row, column and place
// in the text (diffusers Flux2Pipeline._prepare_text_ids, _prepare_latent_ids). x: any tensor of
// the device; y {text + height * width, 4} fp32: {0, 0, 0, i}, then {0, row, column, 0} row by
// row.
struct TokenPositions {
  static constexpr const char* name = "token_positions";
  static constexpr const char* summary = "time, row, column and place in the text of each token";
  const Tensor& x;
  int64_t text;
  int64_t height;
  int64_t width;
  static Shape shape(const TokenPositions& args) {
    return {args.text + args.height * args.width, 4};
  }
  static Tensor reference(const TokenPositions& args);
  static bool fits(const TokenPositions& args);
  static Samples<TokenPositions> samples();
};

}  // namespace omnirt::ops
