#pragma once
#include <cstddef>

namespace omnirt::adapters {

// A file's tokens, of which real ones bring one or a few.
inline constexpr size_t max_tokens = 256;
// Of a token's name, which prompts write out.
inline constexpr size_t max_token_bytes = 256;

}  // namespace omnirt::adapters
