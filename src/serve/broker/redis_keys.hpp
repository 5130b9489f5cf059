#pragma once
#include <charconv>
#include <cstdint>
#include <string>

namespace omnirt::serve {

// Before the names of all keys.
inline const std::string redis_prefix = "omnirt:";

// Whoever reaches Redis may have written anything: of no number, 0.
inline int64_t redis_number(const std::string& text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace omnirt::serve
