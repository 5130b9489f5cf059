#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "serve/failing_store.hpp"
#include "serve/job_queue.hpp"
#include "serve/memory_store.hpp"
#include "serve/virtual_clock.hpp"

namespace omnirt::serve {

// A server in virtual time: clients that submit, runs that step, and faults by a seed. Jobs are
// cancelled, fail, miss deadlines, crash the server; the store fails before or after a call took
// effect; the server ends and begins again. Throws std::logic_error, with the seed, where a promise
// of the queue is broken.
class JobSimulation {
 public:
  explicit JobSimulation(uint64_t seed);
  // Until so many jobs were accepted, and all of them have ended.
  void run(int64_t lives);

  struct Counts {
    int64_t accepted = 0, refused = 0, restarts = 0, store_faults = 0;
    std::map<JobState, int64_t> ended;
  };
  const Counts& counts() const { return counts_; }

 private:
  // What is known of an accepted job from outside.
  struct Life {
    bool poison = false;
    int64_t step_ms = 1, steps = 1;
    int64_t attempts = 0, delivered = 0;
    int64_t crashed = 0;  // the server ended while the store may have had it running
    bool ended = false;
  };
  struct Running {
    Lease lease;
    int64_t step = 0;
  };

  bool chance(double probability);
  int64_t between(int64_t least, int64_t most);
  void start();
  void crash();
  void end_and_restart();
  void changed(const Job& job);
  void submit();
  void turn();
  void step(size_t at);
  void end(size_t at);
  void disturb();
  void tick();
  void check_forgotten(const std::vector<std::string>& ids);
  void require(bool condition, const std::string& what) const;

  uint64_t seed_;
  std::mt19937_64 random_;
  VirtualClock clock_;
  MemoryJobStore disk_;
  FailingStore store_{disk_};
  std::unique_ptr<JobQueue> queue_;
  std::vector<Running> running_;
  std::map<std::string, Life> lives_;  // of those that the queue still knows
  Counts counts_;
  int64_t wanted_ = 0;
  bool faulty_ = true;
};

}  // namespace omnirt::serve
