#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "engine/load_component.hpp"
#include "io/lost_pages.hpp"

namespace omnirt {

// The components that an engine has loaded, shared by its runs. Bounded: those that no run uses are
// dropped, the one that was used longest ago first, beyond `most_idle` of them and where a new
// component needs their memory. Those in use stay. Safe to use from several threads.
class ComponentCache {
 public:
  static constexpr size_t most_idle = 24;

  // Null where there is none.
  std::shared_ptr<LoadedComponent> find(const ComponentKey& key);
  // Keeps what was loaded for `key`; returns what is kept, which is another thread's where that was
  // first.
  std::shared_ptr<LoadedComponent> keep(const ComponentKey& key,
                                        std::shared_ptr<LoadedComponent> made);
  // Drops idle components of a device until `available` (bytes) returns at least `bytes`, or none
  // is left.
  void make_room(const DeviceId& device, uint64_t bytes,
                 const std::function<uint64_t()>& available);
  // Drops all that no run uses; how many that were.
  size_t drop_idle();
  size_t size() const;

 private:
  struct Entry {
    ComponentKey key;
    std::shared_ptr<LoadedComponent> component;
  };
  std::shared_ptr<LoadedComponent> used(const ComponentKey& key);
  std::shared_ptr<LoadedComponent> take_idle(size_t most, const DeviceId* of = nullptr);

  mutable std::mutex mutex_;
  std::deque<Entry> entries_;  // the one that was used last in front
  io::LostPages files_;        // since there were no entries
};

}  // namespace omnirt
