#pragma once
#include <cstddef>

namespace omnirt::adapters {

// Of a token's name, which prompts write out.
inline constexpr size_t max_token_bytes = 256;

}  // namespace omnirt::adapters
