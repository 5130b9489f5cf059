#include "families/sd3/sd3.hpp"

#include "blocks/control_blocks.hpp"
#include "blocks/control_values.hpp"
#include "blocks/denoise.hpp"
#include "blocks/export_images.hpp"
#include "blocks/given_latents.hpp"
#include "blocks/hires_in_tokens.hpp"
#include "blocks/inpaint.hpp"
#include "blocks/latents.hpp"
#include "blocks/masked_control.hpp"
#include "blocks/shifted_timesteps.hpp"
#include "blocks/start_noise.hpp"
#include "blocks/upscale_images.hpp"
#include "families/sd3/check.hpp"
#include "families/sd3/control.hpp"
#include "families/sd3/encode_prompt.hpp"
#include "families/sd3/entries.hpp"
#include "families/sd3/single_file.hpp"
#include "families/sd3/slots.hpp"

namespace omnirt::families {
namespace {

// Latents of a token of all models.
constexpr int64_t sd3_patch = 2;

blocks::DenoiseOptions denoise_options() {
  return {.network = "transformer",
          .constants = {{sd3::pooled_prompt_embeds.name, "pooled_projections",
                         sd3::pooled_prompt_embeds.help}}};
}

blocks::TokenSides sd3_tokens(const SD3Transformer2DModel& network) {
  return {network.max_side(), network.max_side()};
}

blocks::TokenControlOptions sd3_controls() {
  return {.class_name = "SD3ControlNetModel", .own_text = true};
}

BlockList sd3_blocks() {
  const Trigger image = has("image"), mask = has("mask");
  const Trigger inpaint = image && mask;
  // A ControlNet for inpainting alone looks at mask and image.
  const Trigger by_control = inpaint && blocks::any_control_reads_mask();
  const Trigger from_image = image && !by_control, put_back = inpaint && !by_control;
  const Trigger third = has_component("text_encoder_3");
  const Trigger alone = !image && !mask && !has_component("controlnet");
  const Trigger hires = blocks::asks_for_hires() && alone;
  const blocks::LevelShift shift{blocks::linear_mu, sd3_patch, /*gives_levels=*/false};
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  add(std::make_shared<sd3::CheckParts>());
  for (auto& block : blocks::token_control_checks()) list.push_back(block);
  add(std::make_shared<blocks::RefuseHires>(!alone));
  const Trigger given_noise = has("latents") && !image && !mask;
  add(std::make_shared<blocks::SizeOfNoise>(given_noise));
  add(std::make_shared<sd3::ImageSize>());
  add(std::make_shared<blocks::HiresSizeInTokens<SD3Transformer2DModel>>(hires, sd3_tokens));
  add(std::make_shared<blocks::StartNoise>());
  add(std::make_shared<sd3::EncodePromptFirst>());
  add(std::make_shared<sd3::EncodePromptSecond>());
  add(std::make_shared<sd3::EncodePromptThird>(third));
  add(std::make_shared<sd3::EncodePromptWithoutThird>(!third));
  add(std::make_shared<blocks::SetShiftedTimesteps>(shift, !from_image));
  add(std::make_shared<blocks::SetPartialShiftedTimesteps>(shift, from_image));
  for (auto& block : blocks::given_image_blocks(image, inpaint)) list.push_back(block);
  add(std::make_shared<blocks::PrepareMask>(inpaint));
  for (size_t i = 0; i < blocks::most_controls; ++i) {
    add(std::make_shared<sd3::EncodeControl>(i));
    add(std::make_shared<blocks::EncodeMaskedControl>(i, sd3_controls().own_text));
  }
  // The order of these is the order of draws from the noise source.
  add(std::make_shared<blocks::TakeNoiseOfImages>(given_noise));
  add(std::make_shared<blocks::PrepareLatents>(!from_image));
  add(std::make_shared<blocks::EncodeImage>(from_image));
  add(std::make_shared<blocks::NoiseImageLatents>("noise_image_latents", false, from_image));
  add(std::make_shared<blocks::KeepUnmasked>(put_back));
  add(std::make_shared<blocks::PutBackUnmasked>(put_back));
  for (auto& block : blocks::token_controlnets(sd3_controls())) list.push_back(block);
  add(std::make_shared<blocks::DenoiseLoop>(denoise_options()));
  blocks::add_shifted_hires(list, shift, denoise_options(), hires);
  add(std::make_shared<blocks::DecodeLatents>(!hires));
  for (auto& block : blocks::put_back_blocks(inpaint)) list.push_back(block);
  add(std::make_shared<blocks::UpscaleMade>());
  add(std::make_shared<blocks::ExportImages>());
  return list;
}

}  // namespace

Family sd3() {
  return {.name = "sd3",
          .tasks = {{"text2image", {}}, {"image2image", {"image"}}, {"inpaint", {"image", "mask"}}},
          .blocks = sd3_blocks(),
          .entries = sd3::entries(),
          .pipeline_classes = {"StableDiffusion3Pipeline", "StableDiffusion3Img2ImgPipeline",
                               "StableDiffusion3InpaintPipeline"},
          .variant_of = sd3::variant_of,
          .adopt_scheduler = {},
          .single_files = {sd3::single_file()},
          .shifts_by_size = true,
          .adapter_families = sd3::adapter_families(),
          .text_encoders = {{"text_encoder", "tokenizer", "clip_l"},
                            {"text_encoder_2", "tokenizer_2", "clip_g"},
                            {"text_encoder_3", "tokenizer_3", "t5xxl"}},
          .previews = {{"", sd3::latent_colours()}},
          .guider = "cfg_skip_layers",
          .guider_keys = sd3::guider_keys()};
}

}  // namespace omnirt::families
