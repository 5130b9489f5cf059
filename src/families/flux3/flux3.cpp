#include "families/flux3/flux3.hpp"

#include "blocks/denoise.hpp"
#include "blocks/export_images.hpp"
#include "blocks/given_latents.hpp"
#include "blocks/hires.hpp"
#include "blocks/latents.hpp"
#include "blocks/shifted_timesteps.hpp"
#include "blocks/start_noise.hpp"
#include "blocks/upscale_images.hpp"
#include "families/flux3/check.hpp"
#include "families/flux3/encode_prompt.hpp"
#include "families/flux3/entries.hpp"
#include "families/flux3/references.hpp"
#include "families/flux3/sizes.hpp"
#include "families/flux3/target_timestep.hpp"

namespace omnirt::families {
namespace {

blocks::DenoiseOptions denoise_options() {
  auto constant = [](const auto& slot) {
    return blocks::ConstantInput{slot.name, slot.name, slot.help};
  };
  return {.network = "transformer",
          .constants = {constant(flux3::reference_latents), constant(flux3::reference_ids)},
          .text_mask = flux3::prompt_window.name};
}

BlockList flux3_blocks() {
  const Trigger edit = has("image"), given_noise = has("latents");
  const Trigger hires = blocks::asks_for_hires() && !edit;
  // The shift is the scheduler's own, whatever the size.
  const blocks::LevelShift shift{blocks::linear_mu};
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  add(std::make_shared<flux3::CheckParts>());
  add(std::make_shared<blocks::RefuseHires>(edit));
  add(std::make_shared<blocks::SizeOfNoise>(given_noise));
  add(std::make_shared<flux3::ImageSize>());
  add(std::make_shared<blocks::HiresSize>(hires));
  add(std::make_shared<blocks::StartNoise>());
  add(std::make_shared<flux3::EncodePrompt>());
  add(std::make_shared<blocks::SetShiftedTimesteps>(shift, Trigger{}));
  add(std::make_shared<blocks::TakeNoiseOfImages>(given_noise));
  add(std::make_shared<blocks::PrepareLatents>(Trigger{}));
  add(std::make_shared<flux3::EncodeReferences>(edit));
  add(std::make_shared<flux3::TargetTimestep>());
  add(std::make_shared<blocks::DenoiseLoop>(denoise_options()));
  blocks::add_shifted_hires(list, shift, denoise_options(), hires);
  add(std::make_shared<blocks::DecodeLatents>(!hires));
  add(std::make_shared<flux3::CropToReference>(edit &&
                                               !(has_config("width") || has_config("height"))));
  add(std::make_shared<blocks::UpscaleMade>());
  add(std::make_shared<blocks::ExportImages>());
  return list;
}

std::vector<AdapterFamily> adapter_families() {
  return {{.name = "FLUX.3",
           .ids = {"flux3.klein", "flux3.klein-base"},
           .marks = {{"denoiser:txt_mode_blocks_"},
                     {"denoiser:mode_blocks_"},
                     {"denoiser:content_mode_blocks_"}},
           .metadata = {"flux3", "Flux3", "flux.3"},
           .embedding_widths = {}}};
}

}  // namespace

Family flux3() {
  return {.name = "flux3",
          .tasks = {{"text2image", {}}, {"edit", {"image"}}},
          .blocks = flux3_blocks(),
          .entries = flux3::entries(),
          .pipeline_classes = {"Flux3ModularPipeline", "Flux3DistilledModularPipeline"},
          .variant_of = flux3::variant_of,
          .adopt_scheduler = {},
          .usual_scheduler = flux3::usual_scheduler(),
          .adapter_families = adapter_families(),
          .previews = {{"", {.colours = {}, .tiny = "madebyollin/taef2"}}}};
}

}  // namespace omnirt::families
