#pragma once
#include <memory>

#include "blocks/clip_image.hpp"
#include "blocks/export_video.hpp"
#include "blocks/video_slots.hpp"
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

// The given image is what each video begins with.
class TakeFirstImage final : public Block {
 public:
  Input<io::Image> image{this, "image", "the image that the video begins with"};
  Input<std::vector<uint64_t>> seeds{this, video_slots::seeds};
  Output<std::vector<io::Image>> first_images{this, video_slots::first_images};

  TakeFirstImage() : Block("take_first_image", Stage::prepare_conditions) {}
  void run(Frame& frame) const override {
    frame[first_images] = std::vector<io::Image>(frame[seeds].size(), frame[image]);
  }
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
  Output<Tensor> first_latents{this, svd_slots::first_latents};

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
  Input<Tensor> first_latents{this, svd_slots::first_latents};
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

// `image` {1, 3, h, w} at {side, side}: blurred where it shrinks, then cubic (reference:
// _resize_with_antialiasing).
Tensor resize_with_antialiasing(const Tensor& image, int64_t side);

}  // namespace omnirt::families
