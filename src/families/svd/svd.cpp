#include "families/svd/svd.hpp"

#include "blocks/denoise.hpp"
#include "blocks/export_video.hpp"
#include "blocks/image_size.hpp"
#include "blocks/latent_colours.hpp"
#include "blocks/video_frames.hpp"
#include "blocks/video_noise.hpp"
#include "families/svd/blocks.hpp"
#include "families/svd/entries.hpp"
#include "guiders/frame_guidance.hpp"
#include "pipeline/block_list.hpp"
#include "pipeline/chunk_loop.hpp"

namespace omnirt::families {
namespace {

using namespace blocks;

std::shared_ptr<const Block> denoise_loop() {
  return std::make_shared<DenoiseLoop>(DenoiseOptions{
      .constants = {
          {"added_time_ids", "added_time_ids", "fps - 1, motion bucket, noise"},
          {"frame_latents", "image_latents", "the first image's latents for each frame"}}});
}

// What makes a chunk of its first images, in the order of draws from the noise source.
BlockList chunk_blocks() {
  return {std::make_shared<EncodeFirstImages>(),
          std::make_shared<EncodeFirstLatents>(),
          std::make_shared<PrepareVideoConditions>(),
          std::make_shared<SetTimesteps>(Trigger{}),
          std::make_shared<PrepareVideoLatents>(),
          denoise_loop(),
          std::make_shared<DecodeFrames>()};
}

BlockList svd_blocks() {
  BlockList list{
      std::make_shared<CheckVideo>(), std::make_shared<SizeOfNoise>(has("latents")),
      std::make_shared<SizeOfImage>("size_of_video", SizeOfImage::Unset::model, Trigger{}),
      std::make_shared<StartVideos>(), std::make_shared<TakeFirstImage>()};
  BlockList chunk = chunk_blocks();
  list.insert(list.end(), chunk.begin(), chunk.end());
  insert_before(list, "prepare_video_latents", std::make_shared<TakeVideoNoise>(has("latents")));
  chunk.push_back(std::make_shared<JoinChunks>());
  chunk.push_back(std::make_shared<ContinueFromLastFrame>());
  insert_before(list, "decode_frames",
                std::make_shared<ChunkLoop>("denoise_chunks", keys::num_chunks, chunk,
                                            has_config(keys::num_chunks.name)));
  list.push_back(std::make_shared<ExportVideo>());
  return list;
}

// Folders are distinguished by the number of frames that their UNet was trained on.
std::string variant_of(const PipelineFolder& folder) {
  constexpr int64_t frames_of_svd = 14;
  const ComponentFolder* unet = folder.find("unet");
  bool short_one = unet && unet->config.contains("num_frames") &&
                   unet->config["num_frames"].is_number_integer() &&
                   unet->config["num_frames"].get<int64_t>() <= frames_of_svd;
  return short_one ? "svd" : "svd-xt";
}

}  // namespace

Family svd() {
  return {.name = "svd",
          .tasks = {{"image2video", {"image"}}},
          .blocks = svd_blocks(),
          .entries = svd_entries(),
          .pipeline_classes = {"StableVideoDiffusionPipeline"},
          .variant_of = variant_of,
          .adopt_scheduler = {},
          .previews = {{"", blocks::sd_latents()}},
          .guider = "frame_cfg",
          .guider_keys = {&guider_keys::min_guidance_scale, &guider_keys::max_guidance_scale}};
}

}  // namespace omnirt::families
