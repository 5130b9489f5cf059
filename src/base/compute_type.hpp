#pragma once
#include <array>

#include "base/choice.hpp"

namespace omnirt {

// The type that networks compute in.
enum class ComputeType { fp32, bf16, fp16 };
template <>
struct ChoiceNames<ComputeType> {
  static constexpr std::array names{"fp32", "bf16", "fp16"};
};

}  // namespace omnirt
