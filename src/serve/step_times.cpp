#include "serve/step_times.hpp"

#include <algorithm>

namespace omnirt::serve {

// The first run is taken as it is; later ones count for a quarter each.
void StepTimes::Times::learn(double step, double other) {
  const double weight = runs == 0 ? 1 : 0.25;
  step_ms += weight * (step - step_ms);
  other_ms += weight * (other - other_ms);
  ++runs;
}

void StepTimes::learn(const std::string& work, int64_t steps, double steps_ms, double other_ms) {
  const double step = steps_ms / static_cast<double>(std::max<int64_t>(steps, 1));
  all_.learn(step, other_ms);
  if (!works_.contains(work) && works_.size() >= most_works) {
    works_.erase(std::min_element(works_.begin(), works_.end(), [](const auto& a, const auto& b) {
      return a.second.used < b.second.used;
    }));
  }
  Times& times = works_[work];
  times.learn(step, other_ms);
  times.used = ++uses_;
}

std::optional<double> StepTimes::measured(const std::string& work, int64_t steps,
                                          bool whole) const {
  auto it = works_.find(work);
  if (it == works_.end()) return std::nullopt;
  return it->second.of(steps, whole);
}

double StepTimes::estimate(const std::string& work, int64_t steps, bool whole) const {
  return measured(work, steps, whole).value_or(all_.of(steps, whole));
}

}  // namespace omnirt::serve
