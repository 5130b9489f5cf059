#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/report.hpp"

namespace omnirt::serve {

// What kind of work a job is: jobs of one kind take about the same time per step.
struct JobWork {
  std::string model, task;
  int64_t width = 0, height = 0;
  int64_t images = 1;  // per prompt
  int64_t frames = 0;  // of a video
  int64_t fps = 0;

  static JobWork of(const SettledReport& settled);
  // As it is stored with a job, and compared. Reading returns nothing for any other text.
  std::string text() const;
  static std::optional<JobWork> read(std::string_view text);
  bool is_video() const { return frames > 0; }
};

// A value of a settled config; `otherwise` if it is not a whole number.
int64_t settled_number(const ConfigValues& config, const char* name, int64_t otherwise);

}  // namespace omnirt::serve
