#include "runtime/fallbacks.hpp"

namespace omnirt {

const char* to_string(FallbackKind kind) {
  static constexpr std::array<const char*, 4> names{"refused", "call", "kernel", "memory"};
  return names[static_cast<size_t>(kind)];
}

void FallbackCounter::add(const std::string& component, Level level, FallbackKind kind,
                          uint64_t count) {
  {
    std::scoped_lock lock(mutex_);
    counts_[{component, level, kind}] += count;
  }
  if (total_) total_->add(component, level, kind, count);
}

uint64_t FallbackCounter::count(const std::string& component, Level level,
                                FallbackKind kind) const {
  std::scoped_lock lock(mutex_);
  auto it = counts_.find({component, level, kind});
  return it == counts_.end() ? 0 : it->second;
}

std::vector<FallbackCount> FallbackCounter::all() const {
  std::scoped_lock lock(mutex_);
  std::vector<FallbackCount> all;
  for (const auto& [key, count] : counts_)
    all.push_back({key.component, key.level, key.kind, count});
  return all;
}

}  // namespace omnirt
