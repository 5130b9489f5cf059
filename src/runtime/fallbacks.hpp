#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/level.hpp"

namespace omnirt {

// Why a component was not computed as its level says.
enum class FallbackKind {
  refused,  // the level was not to be had; the run began at a slower one
  call,     // a call failed at the level, and was made again at a slower one
  kernel,   // one op's kernel failed, and the next one (or the reference) took its place
  memory,   // a call found no memory on the device, and was made again with less held there
};
const char* to_string(FallbackKind kind);

struct FallbackCount {
  std::string component;
  Level level = Level::eager;  // the one that was fallen from
  FallbackKind kind = FallbackKind::refused;
  uint64_t count = 0;
};

// Counts fallbacks; what one run's counter counts its engine's counts too. Safe to use from several
// threads.
class FallbackCounter {
 public:
  explicit FallbackCounter(FallbackCounter* total = nullptr) : total_(total) {}
  void add(const std::string& component, Level level, FallbackKind kind, uint64_t count = 1);
  uint64_t count(const std::string& component, Level level, FallbackKind kind) const;
  // All that are not zero, in order of component, level and kind.
  std::vector<FallbackCount> all() const;

 private:
  struct Key {
    std::string component;
    Level level;
    FallbackKind kind;
    bool operator<(const Key& other) const {
      return std::tie(component, level, kind) < std::tie(other.component, other.level, other.kind);
    }
  };
  FallbackCounter* total_;
  mutable std::mutex mutex_;
  std::map<Key, uint64_t> counts_;
};

}  // namespace omnirt
