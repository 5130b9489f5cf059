#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "serve/job_events.hpp"
#include "serve/job_queue.hpp"

namespace omnirt::serve {

// A job as it is now, without its request.
struct JobView {
  Job job;
  JobProgress progress;
  int64_t remaining_ms = 0;  // by measured times, until it ends
};

// The jobs of a server as its routes see them: run in this process (Dispatcher), or by workers that
// a broker reaches (BrokerJobs). Safe to use from several threads.
class Jobs {
 public:
  virtual ~Jobs() = default;

  // Called with jobs that are forgotten, on a thread of its own.
  std::function<void(const std::string&)> on_forgotten;
  // Called after each change of a job's state that this process made.
  std::function<void(const Job&)> on_change;

  // Begins its work.
  virtual void start() = 0;
  // Throws QueueRefusal, also where the server ends ("Draining") or the broker is out of reach
  // ("BrokerLost"); RunFailed where the store fails.
  virtual JobView submit(const Submission& submission) = 0;
  virtual std::optional<JobView> find(const std::string& id) const = 0;
  // Of one client, or ("") of all, the newest first.
  virtual std::vector<JobView> list(const std::string& client, size_t most) const = 0;
  virtual std::optional<JobView> cancel(const std::string& id) = 0;
  // A job that has ended goes at once, with its files. False where there is none, or where a broker
  // keeps it until its time.
  virtual bool forget(const std::string& id) = 0;
  virtual int64_t listen(const std::string& id, int64_t after, JobEvents::Listener listener) = 0;
  virtual void leave(int64_t listener) = 0;

  struct Counts {
    size_t waiting = 0, running = 0, computing = 0;
  };
  virtual Counts counts() const = 0;
  // "" where jobs are accepted; else why not, in a word: "draining", "no broker".
  virtual std::string refuses() const = 0;

  // Accepts and begins nothing more. True: all that had begun here is over within `ms`.
  virtual bool drain(int64_t ms) = 0;
  // Hands back what still runs: it is queued again, and begins anew at the next start. A process
  // that ends right after that has crashed in nothing.
  virtual void hand_back() = 0;
  // The same, and waits for the threads, which end within a step.
  virtual void stop() = 0;
};

}  // namespace omnirt::serve
