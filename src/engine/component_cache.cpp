#include "engine/component_cache.hpp"

#include <algorithm>

#include "tensor/memory.hpp"

namespace omnirt {
namespace {

// Under the cache's lock: any other holder of a component got it here, so none can come in between.
bool idle(const std::shared_ptr<LoadedComponent>& component) {
  return component.use_count() == 1;
}

}  // namespace

std::shared_ptr<LoadedComponent> ComponentCache::find(const ComponentKey& key) {
  std::scoped_lock lock(mutex_);
  // Pages of a mapped file were lost, perhaps of one of these.
  if (files_.any()) {
    files_ = {};
    entries_.clear();
  }
  return used(key);
}

std::shared_ptr<LoadedComponent> ComponentCache::keep(const ComponentKey& key,
                                                      std::shared_ptr<LoadedComponent> made) {
  {
    std::scoped_lock lock(mutex_);
    if (auto first = used(key)) return first;
    entries_.push_front({key, made});
  }
  // Weights are unmapped outside the lock.
  while (take_idle(most_idle)) {
  }
  return made;
}

void ComponentCache::make_room(const DeviceId& device, uint64_t bytes,
                               const std::function<uint64_t()>& available) {
  while (available() < bytes) {
    if (!take_idle(0, &device)) return;
    return_freed_memory();
  }
}

size_t ComponentCache::drop_idle() {
  size_t dropped = 0;
  while (take_idle(0)) ++dropped;
  return dropped;
}

size_t ComponentCache::size() const {
  std::scoped_lock lock(mutex_);
  return entries_.size();
}

std::shared_ptr<LoadedComponent> ComponentCache::used(const ComponentKey& key) {
  auto it = std::ranges::find(entries_, key, &Entry::key);
  if (it == entries_.end()) return nullptr;
  std::rotate(entries_.begin(), it, it + 1);
  return entries_.front().component;
}

// The idle component that was used longest ago, where there are more than `most` of them; `of`: of
// one device.
std::shared_ptr<LoadedComponent> ComponentCache::take_idle(size_t most, const DeviceId* of) {
  auto wanted = [of](const Entry& entry) {
    return idle(entry.component) && (!of || entry.key.device == *of);
  };
  std::scoped_lock lock(mutex_);
  if (static_cast<size_t>(std::ranges::count_if(entries_, wanted)) <= most) return nullptr;
  auto last = std::find_if(entries_.rbegin(), entries_.rend(), wanted);
  auto taken = std::move(last->component);
  entries_.erase(std::next(last).base());
  return taken;
}

}  // namespace omnirt
