#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace omnirt {

// A parameter as the topology knows it: a name and a shape, no tensor. Its index is its place in
// the network's list.
struct Param {
  std::string name;  // full, as the checkpoint has it: "down_blocks.0.resnets.0.conv1.weight"
  std::vector<int64_t> shape;
  size_t index = SIZE_MAX;
  bool present = true;  // false: the layer was built without it (a convolution without a bias)
  explicit operator bool() const { return present; }
};

}  // namespace omnirt
