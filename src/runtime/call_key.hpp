#pragma once
#include <string>
#include <vector>

#include "runtime/component_call.hpp"

namespace omnirt {

// What distinguishes calls of different work: the variant, and of each input the name, shape, type
// and which of its rows the batch takes.
struct CallKey {
  struct Input {
    std::string name;
    std::vector<int64_t> shape;
    at::ScalarType type;
    std::vector<int64_t> rows;
    bool operator==(const Input&) const = default;
  };
  std::string variant;
  std::vector<Input> inputs;
  bool operator==(const CallKey&) const = default;
};
CallKey call_key(const std::string& variant, const Values& inputs);

}  // namespace omnirt
