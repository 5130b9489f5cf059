#include "pipeline/walk.hpp"

#include <algorithm>

namespace omnirt {
namespace {

LoopProgress at_call(const Walk& walk, size_t call) {
  const auto& timesteps = walk.schedule.scheduler->timesteps();
  return {walk.index - walk.schedule.begin, walk.end - walk.schedule.begin, timesteps[call],
          call + 1 < timesteps.size() ? timesteps[call + 1] : 0.0};
}

}  // namespace

LoopProgress Walk::next() const {
  return at_call(*this, std::min(index, end - 1));
}

LoopProgress Walk::progress() const {
  return at_call(*this, index - 1);
}

}  // namespace omnirt
