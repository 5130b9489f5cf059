#include "families/flux2/flux2.hpp"

#include "blocks/denoise.hpp"
#include "blocks/export_images.hpp"
#include "blocks/given_latents.hpp"
#include "blocks/hires.hpp"
#include "blocks/inpaint.hpp"
#include "blocks/latents.hpp"
#include "blocks/start_noise.hpp"
#include "blocks/upscale_images.hpp"
#include "families/flux2/check.hpp"
#include "families/flux2/encode_prompt.hpp"
#include "families/flux2/entries.hpp"
#include "families/flux2/previews.hpp"
#include "families/flux2/references.hpp"
#include "families/flux2/sizes.hpp"
#include "families/flux2/timesteps.hpp"

namespace omnirt::families {
namespace {

blocks::DenoiseOptions denoise_options() {
  auto constant = [](const auto& slot) {
    return blocks::ConstantInput{slot.name, slot.name, slot.help};
  };
  return {
      .network = "transformer",
      .constants = {constant(flux2::reference_latents), constant(flux2::reference_ids),
                    constant(flux2::kept_reference_latents), constant(flux2::kept_reference_ids)}};
}

BlockList flux2_blocks() {
  const Trigger image = has("image"), mask = has("mask");
  const Trigger inpaint = image && mask, edit = image && !mask;
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  add(std::make_shared<flux2::CheckParts>());
  const Trigger given_noise = has("latents") && !inpaint;
  add(std::make_shared<blocks::SizeOfNoise>(given_noise));
  add(std::make_shared<flux2::ImageSize>());
  const Trigger hires = blocks::asks_for_hires() && !image;
  add(std::make_shared<blocks::RefuseHires>(image));
  add(std::make_shared<blocks::HiresSize>(hires));
  add(std::make_shared<blocks::StartNoise>());
  const Trigger mistral = index_is("_class_name", "Flux2Pipeline");
  add(std::make_shared<flux2::EncodePrompt<flux2::QwenPrompts>>(!mistral));
  add(std::make_shared<flux2::EncodePrompt<flux2::MistralPrompts>>(mistral));
  add(std::make_shared<blocks::SetShiftedTimesteps>(flux2::level_shift(), !inpaint));
  add(std::make_shared<blocks::SetPartialShiftedTimesteps>(flux2::level_shift(), inpaint));
  for (auto& block : blocks::given_image_blocks(inpaint, inpaint)) list.push_back(block);
  add(std::make_shared<blocks::TakeNoiseOfImages>(given_noise));
  add(std::make_shared<blocks::PrepareLatents>(!inpaint));
  const Trigger keeps = flux2::keeps_references();
  add(std::make_shared<flux2::EncodeReferences>(flux2::References::at_each_step, edit && !keeps));
  add(std::make_shared<flux2::EncodeReferences>(flux2::References::kept, edit && keeps));
  add(std::make_shared<flux2::EncodeRepainted>(inpaint));
  add(std::make_shared<blocks::NoiseImageLatents>("noise_image_latents", false, inpaint));
  add(std::make_shared<flux2::EncodeRepaintReferences>(inpaint));
  add(std::make_shared<blocks::PrepareMask>(inpaint));
  add(std::make_shared<flux2::KeepSmoothly>(inpaint));
  add(std::make_shared<blocks::PutBackUnmasked>(inpaint));
  add(std::make_shared<blocks::DenoiseLoop>(denoise_options()));
  blocks::add_shifted_hires(list, flux2::level_shift(), denoise_options(), hires);
  add(std::make_shared<blocks::DecodeLatents>(!hires));
  for (auto& block : blocks::put_back_blocks(inpaint)) list.push_back(block);
  add(std::make_shared<blocks::UpscaleMade>());
  add(std::make_shared<blocks::ExportImages>());
  return list;
}

// The original's blocks have the names that FLUX.1's have; shapes distinguish those.
std::vector<AdapterFamily> adapter_families() {
  return {{.name = "FLUX.2",
           .ids = {"flux2.klein-4b", "flux2.klein-9b", "flux2.klein-9b-kv", "flux2.klein-base-4b",
                   "flux2.klein-base-9b", "flux2.dev", "emoji"},
           .marks = {{"denoiser:double_blocks_"},
                     {"denoiser:single_blocks_"},
                     {"denoiser:single_transformer_blocks_"},
                     {"_attn_add_q_proj"}},
           .metadata = {"flux2", "Flux2", "flux.2"},
           .embedding_widths = {}}};
}

}  // namespace

Family flux2() {
  return {.name = "flux2",
          .tasks = {{"text2image", {}}, {"edit", {"image"}}, {"inpaint", {"image", "mask"}}},
          .blocks = flux2_blocks(),
          .entries = flux2::entries(),
          .pipeline_classes = {"Flux2KleinPipeline", "Flux2KleinInpaintPipeline",
                               "Flux2KleinKVPipeline", "Flux2Pipeline"},
          .variant_of = flux2::variant_of,
          .adopt_scheduler = {},
          .shifts_by_size = true,
          .adapter_families = adapter_families(),
          .previews = flux2::previews()};
}

}  // namespace omnirt::families
