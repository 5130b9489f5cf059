#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "serve/job.hpp"

namespace omnirt::serve {

// What happened to a job, as a client is shown it. Numbers grow, over restarts of the server too.
struct JobEvent {
  int64_t number = 0;
  std::string type;  // state, progress, preview
  std::string data;  // JSON
  bool last = false;
};

// The data of a `state` event: {job, state, cancelling, error}.
std::string state_event(const Job& job);
// The number of an attempt's first event, and of the one with which a job ends in it.
int64_t first_event_number(int64_t attempt);
int64_t last_event_number(int64_t attempt);

// The latest events of each job, and who listens to them. Of previews the latest is kept alone, and
// no more than `most_kept` of the rest, and of jobs that ended before the last `most_whole` their
// states: who comes later misses steps, and no state.
class JobEvents {
 public:
  static constexpr size_t most_kept = 256;
  static constexpr size_t most_whole = 32;
  using Listener = std::function<void(const JobEvent&)>;

  // Events of one attempt are numbered from `attempt` times a million.
  void add(const std::string& job, int64_t attempt, std::string type, std::string data,
           bool last = false);
  // One that another process numbered; nothing where it, or a later one, is there.
  void put(const std::string& job, JobEvent event);
  // Whether any event of the job is kept.
  bool knows(const std::string& job) const { return events_.contains(job); }
  // Gives the events after number `after`, then those that come, until the last or `leave`. 0:
  // there are none to come. The listener may not call back; what it throws
  // is logged.
  int64_t listen(const std::string& job, int64_t after, Listener listener);
  void leave(int64_t listener);
  void forget(const std::string& job);
  // Jobs whose end someone waits for.
  std::vector<std::string> listened() const;

 private:
  struct Listening {
    std::string job;
    Listener listener;
  };
  static void tell(const Listening& listening, const JobEvent& event);
  void note_end(const std::string& job);

  std::map<std::string, std::vector<JobEvent>> events_;
  std::deque<std::string> ended_;  // the last ones
  std::map<int64_t, Listening> listeners_;
  int64_t next_listener_ = 1;
};

}  // namespace omnirt::serve
