#pragma once
#include <memory>

#include "blocks/clip_image.hpp"
#include "blocks/export_video.hpp"
#include "blocks/given_latents.hpp"
#include "blocks/set_timesteps.hpp"
#include "blocks/start_noise.hpp"
#include "families/svd/keys.hpp"
#include "families/svd/slots.hpp"
#include "guiders/frame_guidance.hpp"
#include "io/image.hpp"
#include "networks/clip_vision_model/model.hpp"
#include "networks/unet_spatio_temporal_condition_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "tensor/generator.hpp"

// The blocks of Stable Video Diffusion (reference: StableVideoDiffusionPipeline). Shapes: n videos
// of F frames.
namespace omnirt::families {

// Checks whether the folder's parts fit each other, and settles what the model's config says;
// does nothing in a run.
class CheckVideo final : public Block {
 public:
  Config<int64_t> num_frames{this, keys::num_frames};
  Config<int64_t> decode_chunk_size{this, keys::decode_chunk_size};
  Config<int64_t> fps{this, keys::fps};
  Config<double> output_fps{this, keys::output_fps};
  Config<double> min_guidance_scale{this, guider_keys::min_guidance_scale};
  Config<double> max_guidance_scale{this, guider_keys::max_guidance_scale};
  Described<UNetSpatioTemporalConditionModel> unet{this, "unet"};
  Described<CLIPVisionModel> image_encoder{this, "image_encoder"};
  Described<nn::Autoencoder> vae{this, "vae"};

  CheckVideo() : Block("check_video", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;

 private:
  void check_parts(Checks& checks) const;
};

// The run's videos and their generators: video i with seed + i.
class StartVideos final : public Block {
 public:
  Input<io::Image> image{this, "image", "the image that the video begins with"};
  Config<int64_t> num_videos{this, keys::num_videos_per_prompt};
  Config<int64_t> seed{this, keys::seed};
  Output<std::vector<uint64_t>> seeds{this, video_slots::seeds};
  Output<std::shared_ptr<Noise>> noise_source{this, video_slots::noise_source};
  Output<std::vector<io::Image>> first_images{this, video_slots::first_images};

  StartVideos() : Block("start_videos", Stage::prepare_conditions) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override {
    blocks::check_generators(checks, checks[num_videos]);
  }
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;
};

// What the image encoder makes of each first image; zeros without the image.
class EncodeFirstImages final : public Block {
 public:
  Component<CLIPVisionModel> image_encoder{this, "image_encoder"};
  Component<blocks::CLIPImageProcessor> feature_extractor{this, "feature_extractor"};
  Input<std::vector<io::Image>> first_images{this, video_slots::first_images};
  Output<Tensor> prompt_embeds{this, "prompt_embeds", "the images' embeddings", {"n", "1", "D"}};

  EncodeFirstImages()
      : Block("encode_first_images", Stage::prepare_conditions, Guidance::per_condition) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
};

// The latents of each first image under a little noise, the mode of their distribution, not
// scaled.
class EncodeFirstLatents final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<double> noise_aug_strength{this, keys::noise_aug_strength};
  Input<std::vector<io::Image>> first_images{this, video_slots::first_images};
  InOut<std::shared_ptr<Noise>> noise_source{this, video_slots::noise_source};
  Output<Tensor> first_latents{this, video_slots::first_latents};

  EncodeFirstLatents() : Block("encode_first_latents", Stage::prepare_latents) {}
  void run(Frame& frame) const override;
};

// What the UNet receives with the noisy latents: the first image's latents at every frame (zeros
// without the image), and how it is to move.
class PrepareVideoConditions final : public Block {
 public:
  Config<int64_t> num_frames{this, keys::num_frames};
  Config<int64_t> fps{this, keys::fps};
  Config<int64_t> motion_bucket_id{this, keys::motion_bucket_id};
  Config<double> noise_aug_strength{this, keys::noise_aug_strength};
  Input<Tensor> first_latents{this, video_slots::first_latents};
  Output<Tensor> frame_latents{this,
                               "frame_latents",
                               "the first image's latents for each frame",
                               {"n", "F", "C", "H/8", "W/8"}};
  Output<Tensor> added_time_ids{
      this, "added_time_ids", "fps - 1, motion bucket, noise", {"1", "3"}};

  PrepareVideoConditions()
      : Block("prepare_video_conditions", Stage::prepare_latents, Guidance::per_condition) {}
  void run(Frame& frame) const override;
};

// Initial noise from a file.
class TakeVideoNoise final : public blocks::TakeNoise {
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

 protected:
  std::vector<int64_t> wanted(const Checks& checks) const override;
};

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

  PrepareVideoLatents() : Block("prepare_video_latents", Stage::prepare_latents) {}
  void run(Frame& frame) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;
};

// Latents -> frames, decode_chunk_size of a video at once.
class DecodeFrames final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> decode_chunk_size{this, keys::decode_chunk_size};
  Input<Tensor> latents{this, video_slots::latents};
  OptionalInput<Tensor> earlier_frames{this, video_slots::earlier_frames};
  Output<std::vector<io::Image>> frames{this, video_slots::frames};
  Output<Tensor> decoded_images{this, video_slots::decoded_images};

  DecodeFrames() : Block("decode_frames", Stage::decode) {}
  void run(Frame& frame) const override;
};

// `image` {1, 3, h, w} at {side, side}: blurred where it shrinks, then cubic (reference:
// _resize_with_antialiasing).
Tensor resize_with_antialiasing(const Tensor& image, int64_t side);

}  // namespace omnirt::families
