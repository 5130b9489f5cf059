#include "families/sana/sana.hpp"

#include "blocks/binned_hires.hpp"
#include "blocks/binned_size.hpp"
#include "blocks/control_blocks.hpp"
#include "blocks/denoise.hpp"
#include "blocks/export_images.hpp"
#include "blocks/hires.hpp"
#include "blocks/latents.hpp"
#include "blocks/set_timesteps.hpp"
#include "blocks/shifted_timesteps.hpp"
#include "blocks/start_noise.hpp"
#include "blocks/upscale_images.hpp"
#include "families/sana/check.hpp"
#include "families/sana/control.hpp"
#include "families/sana/encode_prompt.hpp"
#include "families/sana/entries.hpp"

namespace omnirt::families {
namespace {

blocks::DenoiseOptions sana_denoise_options() {
  return {.network = "transformer", .text_mask = sana::prompt_attention_mask.name};
}

BlockList sana_blocks() {
  const Trigger image = has("image"), from_noise = !image;
  const Trigger given_noise = has("latents") && from_noise;
  const Trigger alone = from_noise && !has_component("controlnet");
  const Trigger hires = blocks::asks_for_hires() && alone;
  const blocks::BinnedSizes sizes = sana::sana_sizes();
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  add(std::make_shared<sana::CheckParts>());
  for (auto& block : blocks::token_control_checks()) list.push_back(block);
  add(std::make_shared<sana::CheckControlNet>());
  add(std::make_shared<blocks::RefuseHires>(!alone));
  add(std::make_shared<blocks::SizeOfNoise>(given_noise));
  add(std::make_shared<blocks::BinnedImageSize>(sizes));
  add(std::make_shared<blocks::BinnedHiresSize>(sizes, hires));
  add(std::make_shared<blocks::StartNoise>());
  add(std::make_shared<sana::EncodePrompt>());
  add(std::make_shared<blocks::SetTimesteps>(from_noise));
  // Where Sana-Sprint's image2image begins (reference: SanaSprintImg2ImgPipeline.get_timesteps).
  add(std::make_shared<blocks::SetPartialTimesteps>(image, blocks::in_flow_steps()));
  add(std::make_shared<sana::EncodeControl>(sizes));
  add(std::make_shared<blocks::TakeBinnedNoise>(sizes, given_noise));
  add(std::make_shared<blocks::PrepareBinnedLatents>(sizes, from_noise));
  add(std::make_shared<blocks::EncodeBinnedImage>(sizes, image));
  add(std::make_shared<blocks::NoiseImageLatents>("noise_image_latents", false, image));
  add(std::make_shared<blocks::TokenControlNet>(
      0, blocks::TokenControlOptions{.class_name = "SanaControlNetModel",
                                     .own_text = true,
                                     .text_width = "caption_channels"}));
  add(std::make_shared<blocks::DenoiseLoop>(sana_denoise_options()));
  blocks::add_hires(
      list,
      std::make_shared<blocks::DenoiseHires>(blocks::hires_options(sana_denoise_options(), hires),
                                             blocks::in_flow_steps()),
      hires);
  add(std::make_shared<blocks::DecodeLatents>(!hires));
  add(std::make_shared<blocks::FitMadeImages>(!hires));
  add(std::make_shared<blocks::UpscaleMade>());
  add(std::make_shared<blocks::ExportImages>());
  return list;
}

}  // namespace

Family sana() {
  return {.name = "sana",
          .tasks = {{"text2image", {}}, {"image2image", {"image"}}},
          .blocks = sana_blocks(),
          .entries = sana::entries(),
          .pipeline_classes = {"SanaPipeline", "SanaSprintPipeline", "SanaSprintImg2ImgPipeline",
                               "SanaControlNetPipeline"},
          .variant_of = sana::variant_of,
          .adopt_scheduler = sana::adopt_scheduler,
          .adapter_families = sana::adapter_families()};
}

}  // namespace omnirt::families
