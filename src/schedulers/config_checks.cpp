#include "schedulers/config_checks.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace omnirt {

void ConfigChecks::require(bool legal, const std::string& name, const Json& value,
                           const std::string& message, const std::string& way_out) {
  if (legal) return;
  findings_.push_back({where_ + "." + name, shown(value), message,
                       way_out.empty() ? "take the config that the model came with" : way_out});
}

void ConfigChecks::one_of(const std::string& name, const std::string& value,
                          const std::vector<std::string>& known) {
  require(std::find(known.begin(), known.end(), value) != known.end(), name, value,
          "this scheduler does not have this value",
          fmt::format("one of: {}", fmt::join(known, ", ")));
}

void ConfigChecks::finish() {
  if (!findings_.empty()) throw Unsupported(std::move(findings_));
}

void refuse_steps(int64_t steps, const std::string& limit, const std::string& way_out) {
  throw Unsupported(Finding{"config.num_inference_steps", std::to_string(steps), limit, way_out});
}

void refuse_given(const std::string& list, const std::string& why, const std::string& way_out) {
  throw Unsupported(Finding{"config." + list, "", why, way_out});
}

void check_given_list(const std::string& list, const std::vector<double>& values, bool taken) {
  if (values.empty()) return;
  if (!taken) {
    refuse_given(list, "this scheduler takes none from outside",
                 list == "sigmas"
                     ? "use EulerDiscreteScheduler, or FlowMatchEulerDiscreteScheduler "
                       "for models of flow matching"
                     : "use EulerDiscreteScheduler or DPMSolverMultistepScheduler");
  }
  bool falls =
      std::is_sorted(values.rbegin(), values.rend(), [](double a, double b) { return a <= b; });
  bool legal = std::all_of(values.begin(), values.end(),
                           [](double value) { return std::isfinite(value) && value >= 0; });
  if (!falls || !legal)
    refuse_given(list, "numbers from 0 up that fall from each to the next were expected",
                 "give the noisiest first");
}

}  // namespace omnirt
