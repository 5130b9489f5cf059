#include "runtime/run_state.hpp"

#include <set>

namespace omnirt {

size_t RunState::bytes() const {
  std::set<const void*> counted;
  size_t total = 0;
  auto add = [&](const Tensor& tensor) {
    const at::Storage& storage = tensor.storage();
    if (counted.insert(storage.data()).second) total += storage.nbytes();
  };
  for (const auto& [key, tensor] : kept_) add(tensor);
  step_cache_.visit(add);
  return total;
}

void RunState::clear() {
  kept_.clear();
  step_cache_.forget();
}

}  // namespace omnirt
