#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/choice.hpp"
#include "base/error.hpp"

namespace omnirt {

// How a component is run, the fastest first.
enum class Level { compile, kernel_override, eager };
inline constexpr std::array<Level, 3> all_levels{Level::compile, Level::kernel_override,
                                                 Level::eager};
template <>
struct ChoiceNames<Level> {
  static constexpr std::array names{"compile", "kernel_override", "eager"};
};
constexpr const char* to_string(Level level) {
  return name_of(level);
}
// Whether `level` is `floor` or a faster one.
inline bool at_least(Level level, Level floor) {
  return level <= floor;
}

// Which levels a run may use. Unset: all of them, the fastest that works.
struct LevelPolicy {
  std::optional<Level> only;      // exactly this one
  std::optional<Level> required;  // this one or a faster one
  bool allows(Level level) const {
    return (!only || *only == level) && (!required || at_least(level, *required));
  }
  // Whether a failure at `level` must end the run, since nothing below it is allowed.
  bool strict(Level level) const {
    return level == Level::eager || !allows(static_cast<Level>(static_cast<int>(level) + 1));
  }
};

// One try at running a component at a level, and why it was taken or skipped.
struct Attempt {
  std::string level;  // "compile", "kernel_override", "eager"
  bool ok = false;
  std::string reason;
  bool selected = false;  // the level that the component ends its run at; one of a timeline
  double ms = 0;
};

struct TimelineEntry {
  std::string component;
  std::vector<Attempt> attempts;
};

// A level that cannot continue a call that it took: the call is made again at the next one.
class LevelFailed : public Error {
 public:
  explicit LevelFailed(const std::string& what) : Error("LevelFailed", what, 3) {}
};

// Whether a call that threw this is to be made again at the next level. Not for a cancelled run, a
// bad request or exhausted memory: those would end the same way there.
bool is_level_failure(const std::exception& error);
// std::bad_alloc, OutOfMemory, and what ATen's allocators throw.
bool is_out_of_memory(const std::exception& error);
// What an exception says, without ATen's stack trace.
std::string reason_of(const std::exception& error);

}  // namespace omnirt
