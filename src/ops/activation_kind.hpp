#pragma once

namespace omnirt::ops {

// What a layer, or an op's epilogue, does to its result. gelu is the exact (erf) form; quick_gelu
// is x * sigmoid(1.702 x), as OpenAI's CLIP has it.
enum class Activation { none, silu, gelu, gelu_tanh, quick_gelu, relu };

}  // namespace omnirt::ops
