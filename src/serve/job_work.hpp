#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace omnirt::serve {

// What kind of work a job is: jobs of one kind take about the same time per step. It is kept with
// the job, as a text.
struct JobWork {
  std::string model, task;
  int64_t width = 0, height = 0;
  int64_t images = 1;  // per prompt
  int64_t frames = 0;  // of a video
  int64_t fps = 0;

  // Of a request that was validated: every value with its origin.
  static JobWork of(const Json& settled);
  // Nothing of a text that is none of ours.
  static std::optional<JobWork> read(std::string_view text);
  std::string text() const;
  bool is_video() const { return frames > 0; }
};

// A value of a settled config; `otherwise` where it is no whole number.
int64_t settled_number(const Json& config, const char* name, int64_t otherwise);

}  // namespace omnirt::serve
