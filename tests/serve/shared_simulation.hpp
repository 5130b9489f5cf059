#pragma once
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "serve/broker/shared_queue.hpp"
#include "serve/memory_broker.hpp"

namespace omnirt::serve {

// Servers and workers over one broker, in virtual time, with faults by a seed: processes crash, are
// silent for longer than their lease and come back, lose the broker before or after a call took
// effect; the broker is restarted, loses entries, gives them out twice, holds entries that nobody
// wrote; jobs crash their worker, fail, are cancelled, miss deadlines. Throws std::logic_error,
// with the seed, where a promise is broken.
class SharedSimulation {
 public:
  explicit SharedSimulation(uint64_t seed);
  // Until so many jobs were accepted, and all of them have ended.
  void run(int64_t lives);

  struct Counts {
    int64_t accepted = 0, refused = 0, crashes = 0, silences = 0, broker_faults = 0;
    int64_t broker_restarts = 0, void_results = 0, claims = 0, passed_on = 0;
    int64_t longest_without_owner_ms = 0;
    std::map<JobState, int64_t> ended;
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Process {
    Member member;
    std::unique_ptr<SharedQueue> queue{};
    int64_t next_ms = 0;    // when it acts again
    int64_t beaten_ms = 0;  // when it beat last
    int64_t ticked_ms = 0;
    int64_t idle_since = 0;  // it ran nothing, and was awake
    std::optional<SharedQueue::Taken> run{};
    int64_t step = 0;
    WorkPart part = WorkPart::encode;  // that is run now
    bool over = false;                 // the run is, and its end is to be told
  };
  // What is known of a job from outside.
  struct Life {
    bool poison = false, fails = false;
    int64_t step_ms = 1;
    int64_t troubles = 0;  // that may count as a crash
    int64_t ownerless_since = 0;
    bool ended = false;
  };

  bool chance(double probability);
  int64_t between(int64_t least, int64_t most);
  void require(bool condition, const std::string& what) const;
  void start(Process& process);
  void crash(Process& process);
  void act(Process& process);
  void act_as_server(Process& process);
  void act_as_worker(Process& process);
  void beat(Process& process);
  void step(Process& process);
  void end_run(Process& process);
  void submit(Process& process);
  void disturb();
  void committed(const SharedJob* before, const SharedJob& after);
  void trouble(const std::string& worker);
  void check_owners();

  uint64_t seed_;
  std::mt19937_64 random_;
  MemoryBroker broker_;
  std::vector<Process> processes_;
  std::map<std::string, Life> lives_;
  Counts counts_;
  bool faulty_ = true;
  int64_t next_process_ = 1;
  int64_t checked_ms_ = 0;
  int64_t broken_until_ = 0;  // the broker does not answer
  int64_t wanted_ = 0;
};

}  // namespace omnirt::serve
