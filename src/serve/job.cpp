#include "serve/job.hpp"

namespace omnirt::serve {

bool has_ended(JobState state) {
  return state != JobState::queued && state != JobState::running;
}

}  // namespace omnirt::serve
