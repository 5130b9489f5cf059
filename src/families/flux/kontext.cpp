#include "families/flux/kontext.hpp"

#include <fmt/format.h>

#include "blocks/denoise.hpp"
#include "blocks/export_images.hpp"
#include "blocks/hires.hpp"
#include "blocks/inpaint.hpp"
#include "blocks/latent_colours.hpp"
#include "blocks/latents.hpp"
#include "blocks/shifted_timesteps.hpp"
#include "blocks/start_noise.hpp"
#include "blocks/upscale_images.hpp"
#include "families/flux/check.hpp"
#include "families/flux/encode_prompt.hpp"
#include "families/flux/entries.hpp"
#include "families/flux/kontext_blocks.hpp"
#include "guiders/true_guidance.hpp"
#include "nn/patches.hpp"

namespace omnirt::families {
namespace {

constexpr const char* kontext_dev = "flux1.kontext-dev";

BlockList kontext_blocks() {
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  auto constant = [](const auto& slot, const char* input) {
    return blocks::ConstantInput{slot.name, input, slot.help};
  };
  add(std::make_shared<flux::CheckParts>());
  add(std::make_shared<blocks::RefuseHires>());
  const Trigger image = has("image"), inpaint = image && has("mask");
  const blocks::LevelShift shift{blocks::linear_mu, nn::patch_side};
  add(std::make_shared<flux::SizeOfArea>(!inpaint));
  add(std::make_shared<flux::SizeOfRepainted>(inpaint));
  add(std::make_shared<blocks::StartNoise>());
  add(std::make_shared<flux::EncodePooled>());
  add(std::make_shared<flux::EncodePrompt>());
  add(std::make_shared<blocks::SetShiftedTimesteps>(shift, !inpaint));
  add(std::make_shared<blocks::SetPartialShiftedTimesteps>(shift, inpaint));
  const Trigger other = inpaint && has(flux::image_reference.name);
  add(std::make_shared<flux::EncodeReference>(image && !other));
  add(std::make_shared<flux::EncodeOtherReference>(other));
  add(std::make_shared<blocks::PrepareLatents>(!inpaint));
  add(std::make_shared<flux::EncodeRepainted>(inpaint));
  add(std::make_shared<blocks::NoiseImageLatents>("noise_image_latents", false, inpaint));
  add(std::make_shared<blocks::PrepareMask>(inpaint));
  add(std::make_shared<blocks::KeepUnmasked>(inpaint));
  add(std::make_shared<blocks::PutBackUnmasked>(inpaint));
  add(std::make_shared<blocks::DenoiseLoop>(blocks::DenoiseOptions{
      .network = "transformer",
      .constants = {constant(flux::pooled_prompt_embeds, "pooled_projections"),
                    constant(flux::reference_latents, "reference_latents"),
                    constant(flux::reference_ids, "reference_ids")}}));
  add(std::make_shared<blocks::DecodeLatents>());
  add(std::make_shared<blocks::UpscaleMade>());
  add(std::make_shared<blocks::ExportImages>());
  return list;
}

std::vector<ModelSpec> kontext_entries() {
  std::vector<ModelSpec> all;
  for (const std::string task : {"edit", "text2image", "inpaint"}) {
    ModelSpec made;
    made.maturity = "beta";
    made.id = kontext_dev;
    made.task = task;
    made.resource_hint = {34, 25};
    made.default_config = {
        {"num_inference_steps", 28}, {"guidance_scale", 3.5}, {"true_cfg_scale", 1.0}};
    if (task == "inpaint") made.default_config["strength"] = 1.0;
    made.presets = {{Preset::fast, {{"num_inference_steps", 20}}},
                    {Preset::quality, {{"num_inference_steps", 50}}}};
    made.supported_schedulers = blocks::schedulers_that_take_levels();
    made.summary = "FLUX.1 Kontext, which edits an image as the prompt says";
    made.example = fmt::format(
        "omnirt generate --model {} --task {}{} --prompt \"make it night\" "
        "-o made.png",
        kontext_dev, task,
        task == "edit"      ? " --image in.png"
        : task == "inpaint" ? " --image in.png --mask mask.png"
                            : "");
    made.hub_ids = {"black-forest-labs/FLUX.1-Kontext-dev"};
    all.push_back(made);
    for (const char* name : {"flux1-kontext-dev", "flux.1-kontext-dev", "flux-kontext"}) {
      ModelSpec other;
      other.id = name;
      other.task = task;
      other.alias_of = kontext_dev;
      all.push_back(other);
    }
  }
  return all;
}

}  // namespace

Family flux_kontext() {
  return {.name = "flux_kontext",
          .tasks = {{"text2image", {}}, {"edit", {"image"}}, {"inpaint", {"image", "mask"}}},
          .blocks = kontext_blocks(),
          .entries = kontext_entries(),
          .pipeline_classes = {"FluxKontextPipeline", "FluxKontextInpaintPipeline"},
          .variant_of = [](const PipelineFolder&) { return std::string(kontext_dev); },
          .adopt_scheduler = {},
          .shifts_by_size = true,
          .adapter_families = flux::adapter_families(),
          .text_encoders = {{"text_encoder", "tokenizer", "clip_l"},
                            {"text_encoder_2", "tokenizer_2", "t5xxl"}},
          .previews = {{"", blocks::flux_latents()}},
          .guider = "true_cfg",
          .guider_keys = {&guider_keys::true_cfg_scale}};
}

}  // namespace omnirt::families
