#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "serve/broker/redis_broker.hpp"
#include "serve/broker/run_parts.hpp"
#include "serve/broker/shared_queue.hpp"

namespace omnirt::serve {

struct WorkerOptions {
  RedisUrl redis{};
  std::vector<std::string> models{};  // as ServerOptions has them
  std::vector<std::string> lora_folders{};
  std::set<WorkPart> parts{WorkPart::encode, WorkPart::denoise, WorkPart::decode};
  std::string memory_budget{};
  std::string device{};  // of jobs that name none; "": as models say
  int64_t max_bytes = int64_t{256} << 20;
  int64_t lease_ms = 3000;
  std::string host = "127.0.0.1";
  std::string key_file{};       // as ServerOptions has it: for /metrics
  std::string otlp_endpoint{};  // as ServerOptions has it
  int port = -1;                // of /healthz, /readyz and /metrics; -1: none
};

// `omnirt worker`: takes jobs from a broker, one at a time, and runs them to the end of its parts.
class Worker {
 public:
  // Throws as Server; BrokerLost where no Redis answers.
  Worker(Session& session, const WorkerOptions& options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const std::string& id() const;
  std::vector<std::string> models() const;
  int port() const;  // -1: none
  void start();
  // Takes nothing more. True: what it had begun is over within `ms`.
  bool drain(int64_t ms);
  // What runs is queued again, and counts as no crash.
  void hand_back();
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace omnirt::serve
