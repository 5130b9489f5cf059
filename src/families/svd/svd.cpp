#include "families/svd/svd.hpp"

#include "blocks/denoise.hpp"
#include "blocks/export_video.hpp"
#include "blocks/image_size.hpp"
#include "blocks/latent_colours.hpp"
#include "families/svd/blocks.hpp"
#include "families/svd/chunks.hpp"
#include "families/svd/entries.hpp"
#include "guiders/frame_guidance.hpp"

namespace omnirt::families {
namespace {

using namespace blocks;

std::shared_ptr<const LoopBlock> denoise_loop(Trigger trigger) {
  return std::make_shared<DenoiseLoop>(DenoiseOptions{
      .constants = {{"added_time_ids", "added_time_ids", "fps - 1, motion bucket, noise"},
                    {"frame_latents", "image_latents", "the first image's latents for each frame"}},
      .trigger = std::move(trigger)});
}

BlockList svd_blocks() {
  const Trigger chunks = has_config("num_chunks");
  auto denoise = denoise_loop(!chunks);
  auto decode = std::make_shared<DecodeFrames>();
  // The order of these is the order of draws from the noise source, in every chunk.
  BlockList chunk{std::make_shared<EncodeFirstImages>(),
                  std::make_shared<EncodeFirstLatents>(),
                  std::make_shared<PrepareVideoConditions>(),
                  std::make_shared<SetTimesteps>(Trigger{}),
                  std::make_shared<TakeVideoNoise>(has("latents")),
                  std::make_shared<PrepareVideoLatents>()};
  BlockList list{
      std::make_shared<CheckVideo>(), std::make_shared<SizeOfNoise>(has("latents")),
      std::make_shared<SizeOfImage>("size_of_video", SizeOfImage::Unset::model, Trigger{}),
      std::make_shared<StartVideos>()};
  list.insert(list.end(), chunk.begin(), chunk.end());
  list.push_back(denoise);
  chunk.insert(chunk.end(), {denoise, decode});
  list.push_back(std::make_shared<DenoiseChunks>(chunk, chunks));
  list.push_back(decode);
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
