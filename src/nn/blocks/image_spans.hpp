#pragma once
#include <cstdint>
#include <vector>

#include "runtime/context.hpp"

namespace omnirt::nn {

// Where the tokens of an image are among a prompt's.
struct ImageSpan {
  int64_t first = 0, tokens = 0;
};

// x {1, T, D} with `images` {1, N, D} in the places that `spans` name, in their order; N is how
// many those are.
Tensor placed_at(Context& cx, const Tensor& x, const Tensor& images,
                 const std::vector<ImageSpan>& spans);
// The same with `images` added to what is there.
Tensor added_at(Context& cx, const Tensor& x, const Tensor& images,
                const std::vector<ImageSpan>& spans);

}  // namespace omnirt::nn
