#pragma once
#include <vector>

#include "blocks/denoise.hpp"
#include "blocks/latents.hpp"
#include "blocks/slots.hpp"
#include "io/image.hpp"
#include "nn/autoencoder.hpp"

namespace omnirt::blocks {

// A square part of the latents, in latents. `right` may be beyond the width where the image
// continues at its left edge.
struct Window {
  int64_t top = 0, bottom = 0;
  int64_t left = 0, right = 0;
  bool operator==(const Window&) const = default;
};

// The windows that cover {height, width} (reference: StableDiffusionPanoramaPipeline.get_views,
// which leaves a rest at the right and lower edges uncovered; here a last window ends there). Row
// by row; a side that is not longer than `size` is covered by one window.
std::vector<Window> windows_over(int64_t height, int64_t width, int64_t size, int64_t stride,
                                 bool circular);
// x {B, C, H, W}: what the window shows, {B, C, h, w}.
Tensor window_of(const Tensor& x, const Window& window);

// What the walk in one window made of its part of the latents.
struct DenoisedWindow {
  Window window;
  Tensor latents;  // {B, C, h, w}
};

inline constexpr Slot<std::vector<DenoisedWindow>> denoised_windows{
    "denoised_windows", "each window's part of the latents after the step"};

// The latents after a step: where windows overlap, their mean (MultiDiffusion, Bar-Tal et al. 2023,
// arXiv 2302.08113, equation 5).
class JoinWindows final : public DenoisePart {
 public:
  Input<std::vector<DenoisedWindow>> windows{this, denoised_windows};
  InOut<Tensor> latents{this, slots::latents};

  JoinWindows() : DenoisePart("join_windows") {}
  void run(Frame& frame, const StepAt& at) const override;
};

// Denoises latents that are larger than the network's images in overlapping windows, joined after
// each step: a walk per window, all through the same loop. Runs two blocks: that loop, and the one
// that joins.
class DenoiseWindows final : public LoopBlock {
 public:
  Component<SchedulerChoice> scheduler{this, "scheduler"};
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> num_inference_steps{this, keys::num_inference_steps};
  Config<double> eta{this, keys::eta};
  Config<int64_t> window_size{this, keys::window_size};
  Config<int64_t> window_stride{this, keys::window_stride};
  Config<bool> circular_padding{this, keys::circular_padding};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Input<Schedule> schedule{this, slots::schedule};
  InOut<Tensor> latents{this, slots::latents};

  // `inner`: a WalkLoop that keeps all its state in its walk, and the DenoiseParts that run after
  // all windows' steps. Throws InvalidRequest for other lists.
  DenoiseWindows(const BlockList& inner, Trigger trigger);
  std::unique_ptr<LoopState> start(Frame& frame) const override;
  bool want(Frame& frame, LoopState& state, std::vector<Row>& rows) const override;
  void accept(Frame& frame, LoopState& state,
              const std::vector<Tensor>& predictions) const override;
  void finish(Frame& frame, LoopState& state) const override;
  Denoiser denoiser(Frame& frame) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;
  BlockList inner() const override { return all_; }
  std::shared_ptr<const Block> with_inner(const BlockList& inner) const override;

 private:
  void check_windows(Checks& checks) const;

  BlockList all_;
  const WalkLoop* inner_ = nullptr;
  BlockList join_;
};

// Adds a denoise loop, and the one over windows, which runs it where `windows` says.
void add_denoise_loops(BlockList& list, const DenoiseOptions& options, const Trigger& windows);

// Latents -> images whose left and right edges fit each other: decoded with a margin of what is
// beyond each (reference: StableDiffusionPanoramaPipeline.decode_latents_with_padding).
class DecodeCircular final : public DecodeLatents {
 public:
  explicit DecodeCircular(Trigger trigger) : DecodeLatents(std::move(trigger), "decode_circular") {}

 protected:
  Tensor decoded(Frame& frame, const Tensor& latents_of_one) const override;
};

}  // namespace omnirt::blocks
