#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace omnirt {

using ShapesByName = std::map<std::string, std::vector<int64_t>>;

// The tensors whose names begin with `prefix`, without it.
inline ShapesByName shapes_below(const ShapesByName& shapes, const std::string& prefix) {
  ShapesByName found;
  for (auto it = shapes.lower_bound(prefix); it != shapes.end() && it->first.starts_with(prefix);
       ++it)
    found[it->first.substr(prefix.size())] = it->second;
  return found;
}

}  // namespace omnirt
