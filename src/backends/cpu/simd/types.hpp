#pragma once
#include <cstdint>

namespace omnirt::cpu {

// What a product or convolution does to its result last; gelu is the exact one, by erf.
enum class Activation { none, silu, gelu, gelu_tanh, quick_gelu, relu };

// How a checkpoint file holds its weights. Kernels widen them, exactly.
enum class WeightType { f32, f16, bf16 };

}  // namespace omnirt::cpu
