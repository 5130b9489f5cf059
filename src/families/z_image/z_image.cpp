#include "families/z_image/z_image.hpp"

#include "blocks/control_blocks.hpp"
#include "blocks/denoise.hpp"
#include "blocks/export_images.hpp"
#include "blocks/given_latents.hpp"
#include "blocks/hires_in_tokens.hpp"
#include "blocks/inpaint.hpp"
#include "blocks/latent_colours.hpp"
#include "blocks/latents.hpp"
#include "blocks/shifted_timesteps.hpp"
#include "blocks/start_noise.hpp"
#include "blocks/upscale_images.hpp"
#include "families/z_image/check.hpp"
#include "families/z_image/control.hpp"
#include "families/z_image/encode_prompt.hpp"
#include "families/z_image/entries.hpp"
#include "families/z_image/sizes.hpp"
#include "guiders/original_guidance.hpp"

namespace omnirt::families {
namespace {

blocks::DenoiseOptions denoise_options() {
  return {.network = "transformer", .text_mask = z_image::prompt_attention_mask.name};
}

// Height and width are the second and third axis of positions.
blocks::TokenSides z_image_tokens(const ZImageTransformer2DModel& network) {
  return {network.axes_lens()[1], network.axes_lens()[2]};
}

BlockList z_image_blocks() {
  const Trigger image = has("image"), mask = has("mask");
  const Trigger control = has_component("controlnet"), inpaint = image && mask;
  // Where the ControlNet reads mask and image, nothing else of the run does.
  const Trigger by_control = inpaint && z_image::control_reads_mask(),
                from_image = image && !by_control, put_back = inpaint && !by_control;
  const Trigger from_noise = (!image && !mask) || by_control;
  const Trigger alone = !image && !mask && !control, hires = blocks::asks_for_hires() && alone;
  const blocks::LevelShift shift{blocks::linear_mu, ZImageTransformer2DConfig::patch_size};
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  add(std::make_shared<z_image::CheckParts>(/*omni=*/false));
  for (auto& block : blocks::token_control_checks()) list.push_back(block);
  add(std::make_shared<blocks::RefuseHires>(!alone));
  const Trigger given_noise = has("latents") && from_noise;
  add(std::make_shared<blocks::SizeOfNoise>(given_noise));
  add(std::make_shared<z_image::ImageSize>());
  add(std::make_shared<blocks::HiresSizeInTokens<ZImageTransformer2DModel>>(hires, z_image_tokens));
  add(std::make_shared<blocks::StartNoise>());
  add(std::make_shared<z_image::EncodePrompt>());
  add(std::make_shared<blocks::SetShiftedTimesteps>(shift, from_noise));
  add(std::make_shared<blocks::SetPartialShiftedTimesteps>(shift, from_image));
  for (auto& block : blocks::given_image_blocks(image, inpaint)) list.push_back(block);
  add(std::make_shared<blocks::PrepareMask>(inpaint));
  add(std::make_shared<z_image::EncodeControl>(control && !by_control));
  add(std::make_shared<z_image::EncodeMaskedControl>(by_control));
  add(std::make_shared<blocks::TakeNoiseOfImages>(given_noise));
  add(std::make_shared<blocks::PrepareLatents>(from_noise));
  add(std::make_shared<blocks::EncodeImage>(from_image));
  add(std::make_shared<blocks::NoiseImageLatents>("noise_image_latents", false, from_image));
  add(std::make_shared<blocks::KeepUnmasked>(put_back));
  add(std::make_shared<blocks::PutBackUnmasked>(put_back));
  add(std::make_shared<z_image::Control>());
  add(std::make_shared<blocks::DenoiseLoop>(denoise_options()));
  blocks::add_shifted_hires(list, shift, denoise_options(), hires);
  add(std::make_shared<blocks::DecodeLatents>(!hires));
  for (auto& block : blocks::put_back_blocks(inpaint)) list.push_back(block);
  add(std::make_shared<blocks::UpscaleMade>());
  add(std::make_shared<blocks::ExportImages>());
  return list;
}

}  // namespace

Family z_image() {
  return {.name = "z_image",
          .tasks = {{"text2image", {}}, {"image2image", {"image"}}, {"inpaint", {"image", "mask"}}},
          .blocks = z_image_blocks(),
          .entries = z_image::entries(),
          .pipeline_classes = {"ZImagePipeline", "ZImageImg2ImgPipeline", "ZImageInpaintPipeline"},
          .variant_of = z_image::variant_of,
          .adopt_scheduler = {},
          .shifts_by_size = true,
          .adapter_families = z_image::adapter_families(),
          .previews = {{"", blocks::flux_latents()}},
          .guider = "cfg_original",
          .guider_keys = z_image::guider_keys()};
}

}  // namespace omnirt::families
