#pragma once
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/component_call.hpp"

namespace omnirt {

// What tells calls of different work apart: the variant, and each input's name, shape and type.
using CallKey =
    std::pair<std::string,
              std::vector<std::tuple<std::string, std::vector<int64_t>, at::ScalarType>>>;
CallKey call_key(const std::string& variant, const NamedTensors& inputs);

}  // namespace omnirt
