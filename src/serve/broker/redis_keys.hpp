#pragma once
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "serve/stored_record.hpp"

namespace omnirt::serve {

// The prefix of all keys.
inline const std::string redis_prefix = "omnirt:";

// A number that Redis returns; 0 if it is not a number, or one to which nothing can be added.
inline int64_t redis_number(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number >= 0 && number <= max_stored_number ? number : 0;
}

// The stream of the work on one part of runs of a model.
inline std::string redis_stream(const std::string& part, const std::string& model) {
  return redis_prefix + "work:" + part + ":" + model;
}

}  // namespace omnirt::serve
