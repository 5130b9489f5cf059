#include "serve/step_times.hpp"

#include <algorithm>

namespace omnirt::serve {

// The first is taken as it is.
void StepTimes::Mean::learn(double now, double weight) {
  ms += (measured ? weight : 1) * (now - ms);
  measured = true;
}

StepTimes::Times& StepTimes::times_of(const std::string& work) {
  if (!works_.contains(work) && works_.size() >= most_works) {
    works_.erase(std::min_element(works_.begin(), works_.end(), [](const auto& a, const auto& b) {
      return a.second.used < b.second.used;
    }));
  }
  Times& times = works_[work];
  times.used = ++uses_;
  return times;
}

void StepTimes::learn_step(const std::string& work, double ms) {
  times_of(work).step.learn(ms, step_weight);
  all_.step.learn(ms, step_weight);
}

void StepTimes::learn_other(const std::string& work, double ms) {
  times_of(work).other.learn(ms, other_weight);
  all_.other.learn(ms, other_weight);
}

void StepTimes::set(const std::string& work, double step_ms, double other_ms) {
  Times& times = work.empty() ? all_ : times_of(work);
  times.step = {step_ms, true};
  times.other = {other_ms, true};
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
