#pragma once

namespace omnirt::ops {

// What a layer, or an op's epilogue, does to its result. gelu is the exact (erf) form; quick_gelu
// is x * sigmoid(1.702 x), as in OpenAI's CLIP; leaky_relu is 0.2 x below zero, as ESRGAN's
// networks have it.
enum class Activation { none, silu, gelu, gelu_tanh, quick_gelu, relu, leaky_relu };
inline constexpr double leaky_slope = 0.2;

}  // namespace omnirt::ops
