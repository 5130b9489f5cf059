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

  // A run of `steps` took `steps_ms` for them and `other_ms` for the rest.
  void learn(const std::string& work, int64_t steps, double steps_ms, double other_ms);
  // Milliseconds of computing for `steps` more, and (`whole`) for the rest of a run; nothing before
  // this work was measured.
  std::optional<double> measured(const std::string& work, int64_t steps, bool whole) const;
  // The same by the mean over all work, or one second per step, where it was not.
  double estimate(const std::string& work, int64_t steps, bool whole) const;

 private:
  struct Times {
    double step_ms = 0, other_ms = 0;
    int64_t runs = 0;
    uint64_t used = 0;
    void learn(double step, double other);
    double of(int64_t steps, bool whole) const {
      return step_ms * static_cast<double>(steps) + (whole ? other_ms : 0);
    }
  };
  std::map<std::string, Times> works_;
  Times all_{.step_ms = 1000, .other_ms = 1000};
  uint64_t uses_ = 0;
};

}  // namespace omnirt::serve
