#include "families/qwen_image_edit/qwen_image_edit.hpp"

#include "blocks/denoise.hpp"
#include "blocks/export_images.hpp"
#include "blocks/given_latents.hpp"
#include "blocks/hires.hpp"
#include "blocks/inpaint.hpp"
#include "blocks/latent_colours.hpp"
#include "blocks/latents.hpp"
#include "blocks/shifted_timesteps.hpp"
#include "blocks/start_noise.hpp"
#include "blocks/token_norm.hpp"
#include "blocks/upscale_images.hpp"
#include "families/qwen_image_edit/entries.hpp"
#include "families/qwen_image_edit/look.hpp"
#include "families/qwen_image_edit/references.hpp"
#include "families/qwen_image_edit/repainted.hpp"
#include "families/qwen_image_edit/sizes.hpp"
#include "nn/patches.hpp"

namespace omnirt::families {
namespace {

blocks::DenoiseOptions edit_denoise_options() {
  auto constant = [](const auto& slot) {
    return blocks::ConstantInput{slot.name, slot.name, slot.help};
  };
  const auto& mask = blocks::prompt_embeds_mask;
  return {.network = "transformer",
          .constants = {{mask.name, "encoder_attention_mask", mask.help},
                        constant(slots::reference_latents),
                        {qwen_image_edit::repainted_tokens.name, slots::reference_latents.name,
                         qwen_image_edit::repainted_tokens.help},
                        constant(slots::reference_ids),
                        constant(qwen_image_edit::text_start)},
          .after_guidance = blocks::as_long_as_cond};
}

BlockList qwen_image_edit_blocks() {
  namespace edit = qwen_image_edit;
  const Trigger single = !edit::takes_several_images();
  const Trigger image = has("image"), inpaint = image && has("mask");
  const Trigger given_noise = has("latents") && !inpaint;
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  add(std::make_shared<blocks::SizeOfNoise>(given_noise));
  add(std::make_shared<edit::CheckEdit>());
  add(std::make_shared<blocks::RefuseHires>());
  add(std::make_shared<blocks::StartNoise>());
  add(std::make_shared<edit::LookAtImages>("look_at_image", edit::latents_area,
                                           single && !inpaint));
  add(std::make_shared<edit::LookAtRepainted>(inpaint));
  add(std::make_shared<edit::LookAtImages>("look_at_images", edit::looked_at_area,
                                           !single && !inpaint));
  add(std::make_shared<edit::EncodeEdit>("encode_prompt", edit::EditTemplate{}, single));
  add(std::make_shared<edit::EncodeEdit>("encode_prompt_of_images",
                                         edit::EditTemplate{.numbered = true}, !single));
  const blocks::LevelShift by_tokens{.mu = blocks::linear_mu, .patch = nn::patch_side};
  add(std::make_shared<blocks::SetShiftedTimesteps>(by_tokens, !inpaint));
  add(std::make_shared<blocks::SetPartialShiftedTimesteps>(by_tokens, inpaint));
  add(std::make_shared<edit::FitRepainted>(inpaint && has_config(keys::padding_mask_crop.name)));
  for (auto& block : blocks::given_image_blocks(inpaint, inpaint)) list.push_back(block);
  add(std::make_shared<blocks::TakeNoiseOfImages>(given_noise));
  // The order of these is the order of draws from the noise source.
  add(std::make_shared<blocks::PrepareLatents>(!inpaint));
  add(std::make_shared<edit::EncodeEditImages>(!inpaint));
  add(std::make_shared<blocks::EncodeImage>(inpaint));
  add(std::make_shared<blocks::NoiseImageLatents>("noise_image_latents", false, inpaint));
  add(std::make_shared<edit::GoByRepainted>(inpaint));
  add(std::make_shared<blocks::PrepareMask>(inpaint));
  add(std::make_shared<blocks::KeepUnmasked>(inpaint));
  add(std::make_shared<blocks::PutBackUnmasked>(inpaint));
  add(std::make_shared<blocks::DenoiseLoop>(edit_denoise_options()));
  add(std::make_shared<blocks::DecodeLatents>());
  for (auto& block : blocks::put_back_blocks(inpaint)) list.push_back(block);
  add(std::make_shared<blocks::UpscaleMade>());
  add(std::make_shared<blocks::ExportImages>());
  return list;
}

}  // namespace

Family qwen_image_edit() {
  return {.name = "qwen_image_edit",
          .tasks = {{"edit", {"image"}}, {"inpaint", {"image", "mask"}}},
          .blocks = qwen_image_edit_blocks(),
          .entries = qwen_image_edit::entries(),
          .pipeline_classes = {"QwenImageEditPipeline", "QwenImageEditInpaintPipeline",
                               "QwenImageEditPlusPipeline"},
          .variant_of = qwen_image_edit::variant_of,
          .adopt_scheduler = {},
          .shifts_by_size = true,
          .previews = {{"", blocks::wan_latents()}}};
}

}  // namespace omnirt::families
