#include "families/flux/flux.hpp"

#include "blocks/control_blocks.hpp"
#include "blocks/control_values.hpp"
#include "blocks/denoise.hpp"
#include "blocks/export_images.hpp"
#include "blocks/hires.hpp"
#include "blocks/inpaint.hpp"
#include "blocks/latent_colours.hpp"
#include "blocks/latents.hpp"
#include "blocks/shifted_timesteps.hpp"
#include "blocks/start_noise.hpp"
#include "blocks/token_size.hpp"
#include "blocks/upscale_images.hpp"
#include "families/flux/check.hpp"
#include "families/flux/encode_prompt.hpp"
#include "families/flux/entries.hpp"
#include "families/flux/ip_adapter.hpp"
#include "families/flux/joined.hpp"
#include "families/flux/redux.hpp"
#include "families/flux/single_file.hpp"
#include "guiders/true_guidance.hpp"
#include "nn/patches.hpp"

namespace omnirt::families {
namespace {

blocks::DenoiseOptions denoise_options() {
  return {.network = "transformer",
          .constants = {{flux::pooled_prompt_embeds.name, "pooled_projections",
                         flux::pooled_prompt_embeds.help}}};
}

BlockList flux_blocks() {
  const Trigger image = has("image"), mask = has("mask");
  const Trigger inpaint = image && mask;
  const Trigger fill = inpaint && flux::fills_masks(), put_back = inpaint && !flux::fills_masks();
  const Trigger alone = !image && !flux::follows_control() && !has_component("controlnet") &&
                        !has_component("ip_adapter");
  const Trigger hires = blocks::asks_for_hires() && alone;
  const blocks::LevelShift shift{blocks::linear_mu, nn::patch_side};
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  add(std::make_shared<flux::CheckParts>());
  for (auto& block : blocks::token_control_checks(!flux::follows_control())) list.push_back(block);
  for (auto& block : blocks::image_prompt_checks()) list.push_back(block);
  add(std::make_shared<blocks::RefuseHires>(!alone));
  add(std::make_shared<blocks::SizeInTokens>(nn::patch_side));
  add(std::make_shared<blocks::HiresSize>(hires, nn::patch_side));
  add(std::make_shared<blocks::StartNoise>());
  add(std::make_shared<flux::EncodePooled>());
  add(std::make_shared<flux::EncodePrompt>());
  add(std::make_shared<flux::EncodeRedux>());
  add(std::make_shared<blocks::SetShiftedTimesteps>(shift, !image));
  add(std::make_shared<blocks::SetPartialShiftedTimesteps>(shift, image));
  for (auto& block : blocks::given_image_blocks(image, inpaint)) list.push_back(block);
  // The order of these is the order of draws from the noise source.
  add(std::make_shared<flux::SkipMaskedImage>(inpaint && flux::follows_control()));
  add(std::make_shared<flux::EncodeControl>(flux::follows_control()));
  for (auto& block : blocks::encode_control_images()) list.push_back(block);
  add(std::make_shared<blocks::PrepareLatents>(!image));
  add(std::make_shared<blocks::EncodeImage>(image));
  add(std::make_shared<blocks::NoiseImageLatents>("noise_image_latents", false, image));
  add(std::make_shared<blocks::PrepareMask>(inpaint));
  add(std::make_shared<flux::EncodeMasked>(fill));
  add(std::make_shared<blocks::KeepUnmasked>(put_back));
  add(std::make_shared<blocks::PutBackUnmasked>(put_back));
  for (auto& block : blocks::token_controlnets(
           {.class_name = "FluxControlNetModel", .own_text = false, .unions = true}))
    list.push_back(block);
  for (size_t i = 0; i < blocks::most_prompts; ++i) add(std::make_shared<flux::ImagePrompt>(i));
  add(std::make_shared<blocks::DenoiseLoop>(denoise_options()));
  blocks::add_shifted_hires(list, shift, denoise_options(), hires);
  add(std::make_shared<blocks::DecodeLatents>(!hires));
  for (auto& block : blocks::put_back_blocks(inpaint)) list.push_back(block);
  add(std::make_shared<blocks::UpscaleMade>());
  add(std::make_shared<blocks::ExportImages>());
  return list;
}

}  // namespace

Family flux() {
  return {.name = "flux",
          .tasks = {{"text2image", {}}, {"image2image", {"image"}}, {"inpaint", {"image", "mask"}}},
          .blocks = flux_blocks(),
          .entries = flux::entries(),
          .pipeline_classes = {"FluxPipeline", "FluxImg2ImgPipeline", "FluxInpaintPipeline",
                               "FluxFillPipeline", "FluxControlPipeline",
                               "FluxControlImg2ImgPipeline", "FluxControlInpaintPipeline"},
          .variant_of = flux::variant_of,
          .adopt_scheduler = {},
          .single_files = {flux::single_file()},
          .shifts_by_size = true,
          .adapter_families = flux::adapter_families(),
          .text_encoders = {{"text_encoder", "tokenizer", "clip_l"},
                            {"text_encoder_2", "tokenizer_2", "t5xxl"}},
          .previews = {{"", blocks::flux_latents()}},
          .guider = "true_cfg",
          .guider_keys = {&guider_keys::true_cfg_scale}};
}

}  // namespace omnirt::families
