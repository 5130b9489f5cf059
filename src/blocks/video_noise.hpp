#pragma once
#include "blocks/given_latents.hpp"
#include "blocks/video_keys.hpp"
#include "blocks/video_slots.hpp"
#include "pipeline/schedule.hpp"

namespace omnirt::blocks {

// The run's videos and their generators: video i with seed + i.
class StartVideos final : public Block {
 public:
  Config<int64_t> num_videos{this, keys::num_videos_per_prompt};
  Config<int64_t> seed{this, keys::seed};
  Output<std::vector<uint64_t>> seeds{this, video_slots::seeds};
  Output<std::shared_ptr<Noise>> noise_source{this, video_slots::noise_source};

  StartVideos() : Block("start_videos", Stage::prepare_conditions) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;
};

// Initial noise from a file, for a run of one chunk.
class TakeVideoNoise final : public TakeNoise {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<int64_t> num_frames{this, keys::num_frames};
  Config<int64_t> num_videos{this, keys::num_videos_per_prompt};
  Described<nn::Autoencoder> vae{this, "vae"};
  Input<std::vector<uint64_t>> seeds{this, video_slots::seeds};

  explicit TakeVideoNoise(Trigger trigger)
      : TakeNoise(std::move(trigger), video_slots::given_noise) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;

 protected:
  std::vector<int64_t> wanted(const Checks& checks) const override;
};

// The order in which a model's reference draws the noise of a video: frame by frame {n, F, C, h, w}
// (Stable Video Diffusion), or channel by channel {n, C, F, h, w} (Wan, LTX). The latents' axes are
// the same either way.
enum class DrawOrder { frames_first, channels_first };

// Noise {n, F, C, h, w} whose numbers were drawn in this order.
Tensor video_noise(Noise& source, const std::vector<int64_t>& shape, DrawOrder order);

// Noise alone, as strong as the schedule begins.
class PrepareVideoLatents final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<int64_t> num_frames{this, keys::num_frames};
  Input<Schedule> schedule{this, "schedule", "the scheduler, planned: from noise to video"};
  Input<std::vector<uint64_t>> seeds{this, video_slots::seeds};
  OptionalInput<Tensor> given_noise{this, video_slots::given_noise};
  InOut<std::shared_ptr<Noise>> noise_source{this, video_slots::noise_source};
  Output<Tensor> latents{this, video_slots::latents};

  explicit PrepareVideoLatents(DrawOrder order = DrawOrder::frames_first)
      : Block("prepare_video_latents", Stage::prepare_latents), order_(order) {}
  void run(Frame& frame) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;

 private:
  DrawOrder order_;
};

}  // namespace omnirt::blocks
