#pragma once
#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>
#include <span>
#include <vector>

namespace omnirt {

// What a run brings to a turn that it shares with others.
class SharedCall {
 public:
  virtual ~SharedCall() = default;
  // Whether it can be computed together with `others`, which can be so themselves.
  virtual bool joins(std::span<SharedCall* const> others) const = 0;
  // Computes `all`, this one first, on this one's thread, and keeps what each is given, errors
  // too. False: they could not be computed together, and each is to be brought again.
  virtual bool compute(std::span<SharedCall* const> all) noexcept = 0;
};

// A turn of computing that several runs have together, each in a thread of its own. What they do
// between calls is theirs; calls meet here, so that one computes at a time, and calls that join are
// computed as one.
class SharedTurn {
 public:
  explicit SharedTurn(size_t runs) : runs_(runs) {}

  // Waits until each run of the turn has brought a call or left, then for this one to be computed:
  // calls that join together, by the first of them, one set after the other.
  void meet(SharedCall& call);
  // A run's part of the turn has ended. Each leaves once.
  void leave();
  // Whether calls that should have been computed together had to be computed apart.
  bool came_apart() const;

 private:
  struct Set {
    std::vector<SharedCall*> calls;
    bool computes = false;
  };
  using Sets = std::list<Set>;
  void gather();
  Sets::iterator set_of(const SharedCall& call);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  size_t runs_;
  std::vector<SharedCall*> waiting_;  // in the order in which they came
  Sets sets_;                         // whose calls are computed, the first first
  bool came_apart_ = false;
};

}  // namespace omnirt
