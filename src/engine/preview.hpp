#pragma once
#include "engine/executor.hpp"

namespace omnirt {

// Draws the latents during a run, as its config asks (keys::preview_every and the others): what the
// last step predicts without the noise, where the scheduler says so, else the latents themselves.
// Files are written whole or not at all, and stay whatever becomes of the run.
class Previews {
 public:
  Previews(const Proposal& proposal, const LoadedPipeline& pipeline, LevelRuns& levels,
           const RunHooks& hooks, RunReport& report);
  // After a step. `sample` {n, C, h, w}; of a video {n, F, C, h, w} the middle frame is drawn.
  void step(const LoopProgress& progress, const Tensor& sample);

 private:
  io::Image draw(const Tensor& latents) const;  // {1, C, h, w}
  Tensor decoded(const Tensor& latents) const;  // by the tiny autoencoder
  std::string file_of(size_t place, size_t step) const;

  const Proposal& proposal_;
  const LoadedPipeline& pipeline_;
  LevelRuns& levels_;
  const RunHooks& hooks_;
  RunReport& report_;
  size_t every_;
  size_t before_;  // steps of loops before this one
};

// The image of latents {1, C, h, w} by a model's own colours, a pixel a latent; {1, 3, h, w} in
// about -1..1.
Tensor linear_preview(const PreviewMeans& means, const Tensor& latents);

}  // namespace omnirt
