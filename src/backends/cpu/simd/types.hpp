#pragma once
#include <cstdint>

#include "ops/activation_kind.hpp"

namespace omnirt::cpu {

// What a product or convolution does to its result last.
using ops::Activation;

// How a checkpoint file holds its weights. Kernels widen them, exactly. encoded: as the
// EncodedElements that go with it say.
enum class WeightType { f32, f16, bf16, encoded };

class EncodedElements;

// A convolution's [O][I][kernel height][kernel width], contiguous, as checkpoint files hold it; at
// any byte alignment.
struct ConvWeights {
  const void* data = nullptr;
  WeightType type = WeightType::f32;
  const EncodedElements* encoded = nullptr;  // in place of data, where the type is encoded
};

}  // namespace omnirt::cpu
