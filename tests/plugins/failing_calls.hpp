#pragma once
#include <atomic>
#include <cstdint>

namespace omnirt::testing {

// Calls of the system that tests have fail.
enum class Call : int32_t { none, write, sync, rename, open, map, allocate, any_of_files };

// What the n-th call does instead of its work: less than all, `error` (errno), or the end of the
// process, as by kill -9, before or after the work was done.
enum class Fault : int32_t { error, part, kill_before, kill_after };

// Shared between a test and the process that it tests: a file that OMNIRT_FAILING_CALLS names,
// which libfailing_calls.so maps when it is preloaded.
struct FailingCalls {
  std::atomic<Call> call;
  std::atomic<Fault> fault;
  std::atomic<int32_t> error;
  std::atomic<int64_t> at;    // which call from now, from 1
  std::atomic<int64_t> seen;  // calls of the kind since then
};

}  // namespace omnirt::testing
