#include "families/qwen_image/qwen_image.hpp"

#include "blocks/block_by_block.hpp"
#include "blocks/control_blocks.hpp"
#include "blocks/control_values.hpp"
#include "blocks/denoise.hpp"
#include "blocks/export_images.hpp"
#include "blocks/given_latents.hpp"
#include "blocks/hires.hpp"
#include "blocks/inpaint.hpp"
#include "blocks/latent_colours.hpp"
#include "blocks/latents.hpp"
#include "blocks/masked_control.hpp"
#include "blocks/qwen_image_prompt.hpp"
#include "blocks/shifted_timesteps.hpp"
#include "blocks/start_noise.hpp"
#include "blocks/token_norm.hpp"
#include "blocks/upscale_images.hpp"
#include "families/qwen_image/check.hpp"
#include "families/qwen_image/context.hpp"
#include "families/qwen_image/entities.hpp"
#include "families/qwen_image/entries.hpp"
#include "nn/patches.hpp"

namespace omnirt::families {
namespace {

// A token is a square of 2x2 latents in all models of the family (the reference's pipelines say so
// apart from the config).
constexpr blocks::LevelShift by_tokens{.mu = blocks::linear_mu, .patch = nn::patch_side};

blocks::DenoiseOptions denoise_options() {
  const auto& mask = blocks::prompt_embeds_mask;
  auto constant = [](const auto& slot) {
    return blocks::ConstantInput{slot.name, slot.name, slot.help};
  };
  return {.network = "transformer",
          .constants = {{mask.name, "encoder_attention_mask", mask.help},
                        constant(slots::reference_latents),
                        constant(slots::reference_ids),
                        {qwen_image::entity_embeds.name, "entity_hidden_states",
                         qwen_image::entity_embeds.help},
                        constant(qwen_image::text_ids),
                        constant(qwen_image::attention_bias)},
          .after_guidance = blocks::as_long_as_cond};
}

BlockList qwen_image_blocks() {
  const Trigger image = has("image"), mask = has("mask");
  const Trigger inpaint = image && mask;
  // A ControlNet for inpainting alone looks at mask and image.
  const Trigger by_control = inpaint && blocks::any_control_reads_mask();
  const Trigger from_image = image && !by_control, put_back = inpaint && !by_control;
  const Trigger given_noise = has("latents") && !image;
  const Trigger alone = !image && !has_component("controlnet") && !has("context_image");
  const Trigger hires = blocks::asks_for_hires() && alone;
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  add(std::make_shared<qwen_image::CheckParts>());
  for (auto& block : blocks::token_control_checks()) list.push_back(block);
  add(std::make_shared<blocks::SizeOfNoise>(given_noise));
  add(std::make_shared<qwen_image::ImageSize>());
  add(std::make_shared<blocks::RefuseHires>(!alone));
  add(std::make_shared<blocks::HiresSize>(hires, nn::patch_side));
  add(std::make_shared<blocks::StartNoise>());
  add(std::make_shared<blocks::EncodeQwenImagePrompt>());
  add(std::make_shared<qwen_image::PlaceEntities>());
  add(std::make_shared<blocks::SetShiftedTimesteps>(by_tokens, !from_image));
  add(std::make_shared<blocks::SetPartialShiftedTimesteps>(by_tokens, from_image));
  for (auto& block : blocks::given_image_blocks(image, inpaint)) list.push_back(block);
  add(std::make_shared<blocks::PrepareMask>(inpaint));
  // The order of these is the order of draws from the noise source.
  for (auto& block : blocks::encode_control_images()) list.push_back(block);
  for (size_t i = 0; i < blocks::most_controls; ++i)
    add(std::make_shared<blocks::EncodeMaskedControl>(i));
  add(std::make_shared<qwen_image::EncodeContextImage>());
  add(std::make_shared<blocks::TakeNoiseOfImages>(given_noise));
  add(std::make_shared<blocks::PrepareLatents>(!from_image));
  add(std::make_shared<blocks::EncodeImage>(from_image));
  add(std::make_shared<blocks::NoiseImageLatents>("noise_image_latents", false, from_image));
  add(std::make_shared<blocks::KeepUnmasked>(put_back));
  add(std::make_shared<blocks::PutBackUnmasked>(put_back));
  for (auto& block : blocks::token_controlnets({.class_name = "QwenImageControlNetModel",
                     .feedback_class = "QwenImageBlockWiseControlNet"}))
    list.push_back(block);
  add(std::make_shared<blocks::BlockByBlock>());
  add(std::make_shared<blocks::DenoiseLoop>(denoise_options()));
  blocks::add_shifted_hires(list, by_tokens, denoise_options(), hires);
  add(std::make_shared<blocks::DecodeLatents>(!hires));
  for (auto& block : blocks::put_back_blocks(inpaint)) list.push_back(block);
  add(std::make_shared<blocks::UpscaleMade>());
  add(std::make_shared<blocks::ExportImages>());
  return list;
}

std::vector<AdapterFamily> adapter_families() {
  return {{.name = "Qwen-Image",
           .ids = {"qwen-image", "qwen-image-2512", "qwen-image-edit", "qwen-image-edit-2509",
                   "qwen-image-edit-2511", "qwen-image-layered"},
           .marks = {{"_img_mlp_net_"}, {"_txt_mlp_net_"}, {"_img_mod_1"}, {"_txt_mod_1"}},
           .metadata = {"qwen_image", "qwen-image", "Qwen-Image"},
           .embedding_widths = {}}};
}

}  // namespace

Family qwen_image() {
  return {.name = "qwen_image",
          .tasks = {{"text2image", {}}, {"image2image", {"image"}}, {"inpaint", {"image", "mask"}}},
          .blocks = qwen_image_blocks(),
          .entries = qwen_image::entries(),
          .pipeline_classes = {"QwenImagePipeline", "QwenImageImg2ImgPipeline",
                               "QwenImageInpaintPipeline"},
          .variant_of = qwen_image::variant_of,
          .adopt_scheduler = {},
          .shifts_by_size = true,
          .adapter_families = adapter_families(),
          .previews = {{"", blocks::wan_latents()}}};
}

}  // namespace omnirt::families
