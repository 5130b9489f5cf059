#pragma once
#include <array>

#include "base/choice.hpp"

namespace omnirt {

// The types that weights may be kept in while they are computed with in a wider one, by the names
// of torch (fp8) and of this program's requests.
enum class StorageType { float8_e4m3fn, float8_e5m2, bf16, fp16 };
template <>
struct ChoiceNames<StorageType> {
  static constexpr std::array names{"float8_e4m3fn", "float8_e5m2", "bf16", "fp16"};
};

}  // namespace omnirt
