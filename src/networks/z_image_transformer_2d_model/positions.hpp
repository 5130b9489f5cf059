#pragma once
#include "runtime/context.hpp"

namespace omnirt {

// {T, A} and {U, A} one after the other.
Tensor z_image_behind(Context& cx, const Tensor& first, const Tensor& second);
// The first axis of {T, 1} positions, moved by `offset`, before the others {T, 2}.
Tensor z_image_with_first_axis(Context& cx, const Tensor& first, double offset,
                               const Tensor& others);

}  // namespace omnirt
