#pragma once
#include <functional>
#include <optional>

#include "base/report.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/loop.hpp"
#include "pipeline/proposal.hpp"

namespace omnirt {

struct RunProgress {
  Stage stage = Stage::prepare_conditions;
  LoopProgress loop;  // in the denoise loop
};

// What a caller may hang on to a run. Called on the run's own thread; every step is told, in order.
struct RunHooks {
  std::function<void(const RunProgress&)> progress;
  std::function<void(const LoopProgress&, const Tensor& latents)> on_step;
  // After each block, by name, with the frame as it left it.
  std::function<void(const std::string& block, const Frame&)> on_block;
  const CancelToken* cancel = nullptr;
};

// Runs a validated proposal on a loaded pipeline, filling the report's timings, artifacts and
// latent statistics. Throws Cancelled within a step of the token being set, and RunFailed.
void execute(const Proposal& proposal, LoadedPipeline& pipeline, LevelRuns& levels,
             Backend& backend, const RunHooks& hooks, RunReport& report);

}  // namespace omnirt
