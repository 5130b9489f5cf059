#pragma once
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"

namespace omnirt {

// Collects what is wrong with the values of a scheduler's config, beyond their types.
class ConfigChecks {
 public:
  explicit ConfigChecks(std::string where) : where_(std::move(where)) {}

  // Unless `legal`, the key `name` with `value` is refused.
  void require(bool legal, const std::string& name, const Json& value, const std::string& message,
               const std::string& way_out = "");
  // `value` must be one of `known`.
  void one_of(const std::string& name, const std::string& value,
              const std::vector<std::string>& known);
  // Throws Unsupported with all findings, if there are any.
  void finish();

 private:
  std::string where_;
  std::vector<Finding> findings_;
};

// Refuses a number of steps that a schedule cannot be run in; `limit` says what it can.
[[noreturn]] void refuse_steps(int64_t steps, const std::string& limit,
                               const std::string& way_out = "");

// Refuses a run's own list of levels, `list` being timesteps or sigmas.
[[noreturn]] void refuse_given(const std::string& list, const std::string& why,
                               const std::string& way_out);
// `values`, a run's own list of levels, must be empty unless `taken`, and else finite, from 0 up,
// and fall from each to the next.
void check_given_list(const std::string& list, const std::vector<double>& values, bool taken);

}  // namespace omnirt
