#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace omnirt::serve {

// How long jobs take, as measured: per kind of work the time of a step and of all else, each a mean
// in which the last runs weigh most. Nothing is assumed of work that was never measured but the
// mean over all work.
class StepTimes {
 public:
  static constexpr size_t most_works = 256;
  // How much the last step, and the last run's other time, weigh in their means.
  static constexpr double step_weight = 0.125;
  static constexpr double other_weight = 0.25;

  // A step took so long; all else of a whole run did.
  void learn_step(const std::string& work, double ms);
  void learn_other(const std::string& work, double ms);
  // Means that another process learned; of "" those over all work.
  void set(const std::string& work, double step_ms, double other_ms);
  // Milliseconds of computing for `steps` more, and (`whole`) for the rest of a run; nothing before
  // this work was measured.
  std::optional<double> measured(const std::string& work, int64_t steps, bool whole) const;
  // The same by the mean over all work, or one second per step, where it was not.
  double estimate(const std::string& work, int64_t steps, bool whole) const;

 private:
  struct Mean {
    double ms = 0;
    bool measured = false;
    void learn(double now, double weight);
  };
  struct Times {
    Mean step, other;
    uint64_t used = 0;
    double of(int64_t steps, bool whole) const {
      return step.ms * static_cast<double>(steps) + (whole ? other.ms : 0);
    }
  };
  Times& times_of(const std::string& work);

  std::map<std::string, Times> works_;
  Times all_{.step = {.ms = 1000}, .other = {.ms = 1000}};
  uint64_t uses_ = 0;
};

}  // namespace omnirt::serve
