#pragma once
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "serve/broker/redis_broker.hpp"
#include "serve/broker/shared_queue.hpp"
#include "serve/job_files.hpp"
#include "serve/jobs.hpp"
#include "serve/metrics.hpp"

namespace omnirt::serve {

// The jobs of a server whose runs are made by workers (`omnirt worker`) that a Redis reaches.
class BrokerJobs final : public Jobs {
 public:
  struct Options {
    RedisUrl redis{};
    QueueLimits queue{};
    int64_t lease_ms = 3000;
  };
  // Throws BrokerLost where no Redis answers, Unsupported of one that is too old.
  BrokerJobs(const Options& options, JobFiles& files);
  ~BrokerJobs() override;
  BrokerJobs(const BrokerJobs&) = delete;
  BrokerJobs& operator=(const BrokerJobs&) = delete;

  void start() override;
  JobView submit(const Submission& submission) override;
  std::optional<JobView> find(const std::string& id) const override;
  std::vector<JobView> list(const std::string& client, size_t most) const override;
  std::optional<JobView> cancel(const std::string& id) override;
  bool forget(const std::string&) override { return false; }
  int64_t listen(const std::string& id, int64_t after, JobEvents::Listener listener) override;
  void leave(int64_t listener) override;
  Counts counts() const override;
  std::string refuses() const override;
  bool drain(int64_t ms) override;
  void hand_back() override;
  void stop() override;

  // For metrics.
  Metrics::AtBroker figures() const;
  // A file of a job's that a worker made.
  std::string fetch(const std::string& job, const std::string& name);

 private:
  void watch();
  void follow();
  void take_up(const SharedEvent& event);
  void end_listening();
  void learn_of(const std::string& id);
  JobView view(const SharedJob& shared, const Snapshot& now) const;
  void wait(int64_t ms);

  Options options_;
  JobFiles& files_;
  mutable RedisBroker asked_;  // by requests
  RedisBroker watching_;       // by time
  RedisBroker followed_;       // for events
  std::mutex queue_mutex_;
  SharedQueue queue_, watched_;
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  JobEvents events_;
  Metrics::AtBroker figures_;
  std::atomic<bool> accepts_{true}, stopping_{false}, handed_back_{false};
  std::vector<std::thread> threads_;
};

}  // namespace omnirt::serve
