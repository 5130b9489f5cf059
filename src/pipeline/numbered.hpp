#pragma once
#include <string>

namespace omnirt {

// The name of one of several parts of the same kind: "controlnet", "controlnet_1", ... as diffusers
// names the folders of several.
inline std::string numbered(const std::string& name, size_t place) {
  return place == 0 ? name : name + "_" + std::to_string(place);
}

}  // namespace omnirt
