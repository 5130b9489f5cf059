#include "pipeline/walk.hpp"

#include <algorithm>

namespace omnirt {
namespace {

LoopProgress at_call(const Walk& walk, size_t call) {
  return {walk.index - walk.schedule.begin, walk.end - walk.schedule.begin,
          walk.schedule.scheduler->timesteps()[call]};
}

}  // namespace

LoopProgress Walk::next() const {
  return at_call(*this, std::min(index, end - 1));
}

LoopProgress Walk::progress() const {
  return at_call(*this, index - 1);
}

}  // namespace omnirt
