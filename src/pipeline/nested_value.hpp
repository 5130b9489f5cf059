#pragma once
#include "pipeline/value_codec.hpp"

namespace omnirt {

// A saved value inside another, under a name of its own.
inline void nest(SavedValue& into, const std::string& name, const SavedValue& part) {
  into.json[name] = part.json;
  for (const auto& [key, tensor] : part.tensors) into.tensors[name + "/" + key] = tensor;
}

// What nest put there. Throws InvalidFile when it is not there.
inline SavedValue nested(const SavedValue& from, const std::string& name) {
  SavedValue part{from.get<Json>(name.c_str())};
  std::string prefix = name + "/";
  for (const auto& [key, tensor] : from.tensors) {
    if (key.starts_with(prefix)) part.tensors[key.substr(prefix.size())] = tensor;
  }
  return part;
}

// A count that a list of nested values begins with; small, as every run's lists are.
inline size_t nested_count(const SavedValue& saved) {
  auto count = saved.get<uint64_t>("count");
  constexpr uint64_t most = 1 << 16;
  if (count > most) SavedValue::refuse("a count too large");
  return count;
}

}  // namespace omnirt
