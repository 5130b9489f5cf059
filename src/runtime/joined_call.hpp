#pragma once
#include <exception>

#include "base/shared_turn.hpp"
#include "runtime/component_run.hpp"

namespace omnirt {

// One run's call of a component in a turn that it shares (SharedTurn): computed with those of other
// runs as one batch where both are rows of the same work over the same weights, so that each row
// has the bits that it has alone. Such a batch keeps nothing: what is made once per run belongs to
// one run. Used on its run's thread, which `made` holds for as long as others compute.
class JoinedCall final : public SharedCall {
 public:
  JoinedCall(ComponentRun& run, const ComponentCall& call, const Values& inputs,
             const CancelToken* cancel);
  // The call's results, by the turn: with others, or alone. Throws as ComponentRun::call.
  Values made(SharedTurn& turn);
  // Of how many runs the batch had rows; after made().
  size_t runs() const { return runs_; }

  bool joins(std::span<SharedCall* const> others) const override;
  bool compute(std::span<SharedCall* const> all) noexcept override;

 private:
  size_t rows() const { return call_.rows.size(); }
  bool same_work(const JoinedCall& other) const;
  void alone() noexcept;
  void take(const Values& results, int64_t from);

  ComponentRun& run_;
  const ComponentCall& call_;
  const Values& inputs_;
  const CancelToken* cancel_;
  ComponentRun::Together together_;  // "none": it is computed alone
  Values results_;                   // of a batch views of it, until made() has copied them
  std::exception_ptr error_;
  bool apart_ = false;  // is to be brought again
  size_t runs_ = 1;
};

// Rows of several batches one below the other. `counts`: the rows of each batch.
Values join_batches(std::span<const Values* const> batches, std::span<const int64_t> counts);

}  // namespace omnirt
