#pragma once
#include <c10/core/ScalarType.h>

#include "base/compute_type.hpp"

namespace omnirt {

constexpr at::ScalarType scalar_type(ComputeType type) {
  if (type == ComputeType::bf16) return at::kBFloat16;
  return type == ComputeType::fp16 ? at::kHalf : at::kFloat;
}

}  // namespace omnirt
