#pragma once
#include <mutex>

#include "serve/broker/broker.hpp"
#include "serve/dispatcher.hpp"

namespace omnirt::serve {

// A run as its worker has it: one thread makes it, another tells the broker of it. Safe to use from
// both.
class WorkerRun final : public RunControl {
 public:
  WorkerRun(WorkLease lease, const Job& job);
  // Of the run's own thread.
  void at(const JobProgress& progress) override;
  void preview(std::string data) override;
  const CancelToken& cancel() const override { return token_; }

  // What happened since the last time.
  RunNews news();
  // News that the broker did not get, before what has happened since.
  void put_back(RunNews news);
  // It is to stop, at its next step: cancelled, or its lease is void.
  void stop() { token_.cancel(); }
  const WorkLease& lease() const { return lease_; }

  // How long the run took, by steps and by all else.
  struct Took {
    int64_t steps = 0;
    double steps_ms = 0, other_ms = 0;
  };
  Took took() const;

 private:
  WorkLease lease_;
  std::string client_;
  CancelToken token_;
  mutable std::mutex mutex_;
  RunNews news_;
  Took took_;
  double since_ms_;
};

}  // namespace omnirt::serve
