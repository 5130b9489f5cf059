#pragma once
#include <set>
#include <string>

#include "base/report.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/walk.hpp"
#include "request/proposal.hpp"

namespace omnirt {

// Looks for infinities and NaNs in what a run computes: the latents after each step, and what each
// block passes on, the decoded images among them. Each check is one pass over these numbers. Only
// when one finds something are the weights of the components that computed it read, to name the
// cause: a tensor of a component, an adapter's change of one, or else an overflow at run time.
// Throws InvalidFile or RunFailed; with config.allow_nan the run continues and its report has one
// warning.
class FiniteChecks {
 public:
  FiniteChecks(const Proposal& proposal, const LoadedPipeline& pipeline, RunReport& report);

  void step(const Block& loop, const Frame& frame, const LoopProgress& progress,
            const Tensor& latents);
  void block(const Block& block, const Frame& frame);
  // A tensor of a block that it passes on in another form; `what` it is.
  void tensor(const Block& block, const Frame& frame, const Tensor& made, const std::string& what);

 private:
  [[noreturn]] void refuse(const Block& block, const Frame& frame, const std::string& what) const;
  void found(const Block& block, const Frame& frame, const std::string& what);
  void refuse_weights(const std::set<std::string>& components, const std::string& what) const;
  std::set<std::string> components_of(const Block& block, const Frame& frame) const;
  std::string overflow_text(const std::set<std::string>& components, const std::string& what) const;

  const Proposal& proposal_;
  const LoadedPipeline& pipeline_;
  RunReport& report_;
  bool allowed_;
  bool warned_ = false;
};

// Errors of the proposal, or with config.allow_nan warnings, for numbers in an adapter's file that
// are infinite or NaN. A file is read once as long as it stays the same.
void check_finite(Proposal& proposal, const AdapterChoice& choice);

}  // namespace omnirt
