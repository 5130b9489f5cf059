#pragma once
#include <functional>
#include <optional>
#include <set>

#include "base/report.hpp"
#include "base/shared_turn.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/loop.hpp"
#include "request/proposal.hpp"

namespace omnirt {

struct RunProgress {
  Stage stage = Stage::prepare_conditions;
  LoopProgress loop;  // in the denoise loop
};

// One image of the latents during a run.
struct PreviewImage {
  size_t place = 0;  // of the run's images
  io::Image image;
  std::string file;
};

// What a caller may attach to a run. Called on the run's own thread; every step is reported, once
// and in order. A step is one call of the scheduler's step(): schedulers that go to the network
// twice for a step of their own (Heun, KDPM2), or more (PNDM's warm-up), have a step each time.
// What a callback throws ends the run: an omnirt::Error as it is, all else as RunFailed.
struct RunHooks {
  std::function<void(const RunProgress&)> progress;
  std::function<void(const LoopProgress&, const Tensor& latents)> on_step;
  // Each preview that the config asks for, with its file.
  std::function<void(const LoopProgress&, const PreviewImage&)> on_preview;
  // Each image and video once all of the run's are made and their files written: in memory, before
  // they are encoded. ValidateOptions::files says which become files at all.
  OnArtifact on_artifact;
  // After each block, by name, with the frame as it left it: values that no later block reads are
  // dropped then. One without a reader may never be made, unless `reads` names it.
  std::function<void(const std::string& block, const Frame&)> on_block;
  std::set<std::string> reads{};
  const CancelToken* cancel = nullptr;
  // The turn that the run shares with others now; null, or empty: none.
  std::function<SharedTurn*()> shared_turn{};
};

// Calls a caller's code: what it throws ends the run with an error of ours.
template <class Call>
void tell(Call&& call) {
  try {
    call();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& thrown) {
    throw RunFailed(std::string("the run's callback failed: ") + thrown.what());
  } catch (...) {
    throw RunFailed("the run's callback failed, and did not say why");
  }
}

// Runs a validated proposal on a loaded pipeline, filling the report's timings, artifacts and
// latent statistics. Throws Cancelled within a step of the token being set, and RunFailed.
void execute(const Proposal& proposal, LoadedPipeline& pipeline, LevelRuns& levels,
             const RunHooks& hooks, RunReport& report);

// Goes through the blocks that come before a run's files, with `levels` that only forecast;
// `around` is given each block's place in the plan and its turn.
void go_through(const Proposal& proposal, LoadedPipeline& pipeline, LevelRuns& levels,
                const CancelToken* cancel,
                const std::function<void(size_t block, const std::function<void()>& turn)>& around);

}  // namespace omnirt
