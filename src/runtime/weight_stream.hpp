#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/binding.hpp"
#include "runtime/residency.hpp"

namespace omnirt {

// What a stream did.
struct StreamFigures {
  uint64_t bytes = 0;    // brought in
  uint64_t groups = 0;   // entered
  double waited_ms = 0;  // that computing waited for them
};

// Brings groups of weights into memory as a run uses them, the next one in a thread of its own, and
// releases those that were used (Residency). What is asked for out of order is there all the same,
// only later. Belongs to one run and one thread.
class WeightStream {
 public:
  // `binding` must be the run's own.
  WeightStream(std::shared_ptr<const Binding> binding, Residency residency);
  // Releases all.
  ~WeightStream();
  WeightStream(const WeightStream&) = delete;
  WeightStream& operator=(const WeightStream&) = delete;

  const std::shared_ptr<const Binding>& binding() const { return binding_; }
  // A parameter is about to be used.
  void use(size_t param);
  const StreamFigures& figures() const { return figures_; }

 private:
  static constexpr size_t none = SIZE_MAX;

  void enter(size_t group);
  void give_back(size_t group);
  void ask(size_t group);
  void wait();
  void read(size_t group) const;
  void work(const std::stop_token& stop);

  std::shared_ptr<const Binding> binding_;
  Residency residency_;
  std::vector<size_t> group_of_;  // by parameter; none: it stays
  size_t at_ = none;              // the group that is computed with
  size_t asked_ = none;           // the one that is read, or was
  StreamFigures figures_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  size_t to_read_ = none;  // what the thread is to read, or reads
  std::jthread reader_;
};

}  // namespace omnirt
