#include "runtime/run_state.hpp"

namespace omnirt {

namespace {

// Of the tensors that `visit` shows, each storage once.
size_t bytes_of(const auto& visit) {
  std::set<const void*> counted;
  size_t total = 0;
  visit([&](const Tensor& tensor) {
    const at::Storage& storage = tensor.storage();
    if (counted.insert(storage.unsafeGetStorageImpl()).second) total += storage.nbytes();
  });
  return total;
}

}  // namespace

size_t RunState::bytes() const {
  return bytes_of([&](const auto& add) {
    for (const auto& [key, kept] : kept_) add(kept.tensor);
    step_cache_.visit(add);
    block_cache_.visit(add);
    taylor_cache_.visit(add);
  });
}

size_t RunState::feature_bytes() const {
  const size_t of_step = bytes_of([&](const auto& add) { step_cache_.visit(add); });
  const size_t of_blocks = bytes_of([&](const auto& add) { block_cache_.visit(add); });
  const size_t predicted = bytes_of([&](const auto& add) { taylor_cache_.visit(add); });
  return (of_step + predicted) * (step_cache_.step().order + 1) + of_blocks;
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
  batches_.clear();
  forget_features();
}

void RunState::forget_features() {
  step_cache_.forget();
  block_cache_.forget();
  taylor_cache_.forget();
}

}  // namespace omnirt
