#include "backends/cpu/planned_calls.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "io/system_memory.hpp"
#include "runtime/dry_forward.hpp"

namespace omnirt::cpu {
namespace {

// ATen's own threads rest while the kernels' team works: each would wait for the other's cores.
class SerialAten {
 public:
  SerialAten() : before_(at::get_num_threads()) {
    if (before_ != 1) at::set_num_threads(1);
  }
  SerialAten(const SerialAten&) = delete;
  SerialAten& operator=(const SerialAten&) = delete;
  ~SerialAten() {
    if (before_ != 1) at::set_num_threads(before_);
  }

 private:
  int before_;
};

void check_room(size_t bytes) {
  double needed = static_cast<double>(bytes) / (1 << 30), available = io::available_memory_gb();
  if (needed <= available) return;
  throw OutOfMemory(
      fmt::format("a call needs {:.2f} GiB for its tensors and {:.2f} GiB are "
                  "available; make fewer or smaller images",
                  needed, available));
}

}  // namespace

size_t PlannedCalls::planned_peak(const ComponentCall& call, const Values& inputs,
                                  bool kept_before) {
  CallKey key = call_key(call.variant + (kept_before ? ", again" : ""), inputs);
  std::scoped_lock lock(mutex_);
  auto known = std::ranges::find(peaks_, key, &std::pair<CallKey, size_t>::first);
  if (known != peaks_.end()) {
    std::rotate(peaks_.begin(), known, known + 1);
    return peaks_.front().second;
  }
  size_t peak = dry_forward(*ops_, form_, call, inputs, {kept_before, kept_before}).peak_bytes;
  check_room(peak);
  peaks_.emplace_front(std::move(key), peak);
  if (peaks_.size() > most_peaks) peaks_.pop_back();
  return peak;
}

Values PlannedCalls::run(Context& cx, const ComponentCall& call, const Values& inputs) {
  SerialAten serial;
  return call.run(cx, inputs);
}

}  // namespace omnirt::cpu
