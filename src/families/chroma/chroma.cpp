#include "families/chroma/chroma.hpp"

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
#include "families/chroma/check.hpp"
#include "families/chroma/encode_prompt.hpp"
#include "families/chroma/entries.hpp"
#include "nn/patches.hpp"

namespace omnirt::families {
namespace {

blocks::DenoiseOptions denoise_options() {
  const auto& mask = chroma::prompt_embeds_mask;
  return {.network = "transformer",
          .constants = {{mask.name, "encoder_attention_mask", mask.help}}};
}

BlockList chroma_blocks() {
  const Trigger image = has("image"), mask = has("mask");
  const Trigger inpaint = image && mask;
  const Trigger hires = blocks::asks_for_hires() && !image;
  const blocks::LevelShift shift{blocks::linear_mu, nn::patch_side};
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  add(std::make_shared<chroma::CheckParts>());
  add(std::make_shared<blocks::RefuseHires>(image));
  add(std::make_shared<blocks::SizeInTokens>(nn::patch_side));
  add(std::make_shared<blocks::HiresSize>(hires, nn::patch_side));
  add(std::make_shared<blocks::StartNoise>());
  add(std::make_shared<chroma::EncodePrompt>());
  add(std::make_shared<blocks::SetShiftedTimesteps>(shift, !image));
  add(std::make_shared<blocks::SetPartialShiftedTimesteps>(shift, image));
  for (auto& block : blocks::given_image_blocks(image, inpaint)) list.push_back(block);
  // The order of these is the order of draws from the noise source.
  add(std::make_shared<blocks::PrepareLatents>(!image));
  add(std::make_shared<blocks::EncodeImage>(image));
  add(std::make_shared<blocks::NoiseImageLatents>("noise_image_latents", false, image));
  add(std::make_shared<blocks::PrepareMask>(inpaint));
  add(std::make_shared<blocks::KeepUnmasked>(inpaint));
  add(std::make_shared<blocks::PutBackUnmasked>(inpaint));
  add(std::make_shared<blocks::DenoiseLoop>(denoise_options()));
  blocks::add_shifted_hires(list, shift, denoise_options(), hires);
  add(std::make_shared<blocks::DecodeLatents>(!hires));
  for (auto& block : blocks::put_back_blocks(inpaint)) list.push_back(block);
  add(std::make_shared<blocks::UpscaleMade>());
  add(std::make_shared<blocks::ExportImages>());
  return list;
}

}  // namespace

Family chroma() {
  return {.name = "chroma",
          .tasks = {{"text2image", {}}, {"image2image", {"image"}}, {"inpaint", {"image", "mask"}}},
          .blocks = chroma_blocks(),
          .entries = chroma::entries(),
          .pipeline_classes = {"ChromaPipeline", "ChromaImg2ImgPipeline", "ChromaInpaintPipeline"},
          .variant_of = chroma::variant_of,
          .adopt_scheduler = {},
          .shifts_by_size = true,
          .adapter_families = chroma::adapter_families(),
          .text_encoders = {{"text_encoder", "tokenizer", "t5xxl"}},
          .previews = {{"", blocks::flux_latents()}}};
}

}  // namespace omnirt::families
