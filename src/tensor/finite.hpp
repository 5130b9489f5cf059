#pragma once
#include <optional>
#include <string>

#include "base/error.hpp"
#include "tensor/tensor.hpp"

namespace omnirt {

// The first number of a tensor that is infinite or not a number, and its place: "nan at [0, 3]".
// nullopt where all are finite. Reads the bytes once and copies nothing, unless the tensor is on a
// device or not contiguous.
std::optional<std::string> first_not_finite(const Tensor& x);

// What a block throws for a result that is not finite, which nothing else would see: the run looks
// for the cause among the block's weights.
class NotFinite : public RunFailed {
 public:
  using RunFailed::RunFailed;
};

}  // namespace omnirt
