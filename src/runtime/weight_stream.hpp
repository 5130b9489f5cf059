#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/group_mover.hpp"

namespace omnirt {

// What a stream did.
struct StreamFigures {
  uint64_t bytes = 0;    // brought in
  uint64_t groups = 0;   // entered
  double waited_ms = 0;  // that computing waited for them
};

// Brings groups of weights into memory as a run uses them, those ahead in a thread of its own, and
// releases those that were used (Residency). What is asked for out of order is there all the same,
// only later. Belongs to one run and one thread.
class WeightStream {
 public:
  // `binding` must be the run's own. With `copies` the weights are computed with on a device.
  WeightStream(std::shared_ptr<const Binding> binding, Residency residency,
               std::unique_ptr<WeightCopies> copies = nullptr);
  // Releases all.
  ~WeightStream();
  WeightStream(const WeightStream&) = delete;
  WeightStream& operator=(const WeightStream&) = delete;

  const std::shared_ptr<const Binding>& binding() const { return binding_; }
  // A parameter is about to be used. Throws what bringing it in throws.
  void use(size_t param);
  const StreamFigures& figures() const { return figures_; }

 private:
  static constexpr size_t none = SIZE_MAX;

  void enter(size_t group);
  void bring_now(size_t group);
  void drop_asked_before(size_t group);
  void ask_ahead();
  void wait_for(size_t group);
  void wait_for_all();
  void work(const std::stop_token& stop);

  std::shared_ptr<const Binding> binding_;
  Residency residency_;
  std::unique_ptr<GroupMover> mover_;
  std::vector<size_t> group_of_;  // by parameter; none: it stays
  size_t at_ = none;              // the group that is computed with
  std::deque<size_t> asked_;      // those that are brought, or were, in their order
  StreamFigures figures_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<size_t> to_bring_;  // what the thread is to bring; the first is being brought
  std::exception_ptr failed_;    // why one was not
  std::jthread bringer_;
};

}  // namespace omnirt
