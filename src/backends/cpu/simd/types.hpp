#pragma once
#include <cstdint>

#include "ops/activation_kind.hpp"

namespace omnirt::cpu {

// What a product or convolution does to its result last.
using ops::Activation;

// How a checkpoint file holds its weights. Kernels widen them, exactly.
enum class WeightType { f32, f16, bf16 };

}  // namespace omnirt::cpu
