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
  for (const auto& [key, kept] : kept_) add(kept.tensor);
  step_cache_.visit(add);
  block_cache_.visit(add);
  return total;
}

const Tensor& RunState::keep(const std::string& site, uint64_t id, std::weak_ptr<const void> alive,
                             Tensor made) {
  std::erase_if(kept_, [](const auto& entry) { return entry.second.alive.expired(); });
  Kept& kept = kept_[{site, id}];
  kept = {std::move(made), std::move(alive)};
  return kept.tensor;
}

void RunState::clear() {
  kept_.clear();
  step_cache_.forget();
  block_cache_.forget();
}

}  // namespace omnirt
