#include "runtime/call_key.hpp"

namespace omnirt {

CallKey call_key(const std::string& variant, const NamedTensors& inputs) {
  CallKey key{variant, {}};
  for (const auto& [name, x] : inputs)
    key.second.emplace_back(name, x.sizes().vec(), x.scalar_type());
  return key;
}

}  // namespace omnirt
