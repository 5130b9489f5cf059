#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>

#include "pipeline/value_codec.hpp"
#include "schedulers/scheduler.hpp"

namespace omnirt {

// The part of its schedule that a run steps through: the scheduler, planned, the first call that is
// made, and the first that is not made any more.
struct Schedule {
  std::shared_ptr<Scheduler> scheduler;
  size_t begin = 0;
  size_t end = SIZE_MAX;  // or that after the schedule's last

  size_t last() const { return std::min(end, scheduler->timesteps().size()); }
};

// A scheduler travels as what makes it again, with its history.
template <>
struct ValueCodec<Schedule> {
  static constexpr const char* type = "schedule";
  static SavedValue save(const Schedule& value);
  static Schedule load(const SavedValue& saved, const Catalogue& catalogue);
};

}  // namespace omnirt
