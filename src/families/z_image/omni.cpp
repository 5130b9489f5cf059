#include "families/z_image/omni.hpp"

#include <fmt/format.h>

#include "blocks/denoise.hpp"
#include "blocks/export_images.hpp"
#include "blocks/given_latents.hpp"
#include "blocks/hires.hpp"
#include "blocks/latent_colours.hpp"
#include "blocks/latents.hpp"
#include "blocks/shifted_timesteps.hpp"
#include "blocks/start_noise.hpp"
#include "blocks/upscale_images.hpp"
#include "families/z_image/check.hpp"
#include "families/z_image/entries.hpp"
#include "families/z_image/omni_images.hpp"

namespace omnirt::families {
namespace {

constexpr const char* omni_id = "z-image-omni";

BlockList omni_blocks() {
  const Trigger image = has("image"), given_noise = has("latents");
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  add(std::make_shared<z_image::CheckParts>(/*omni=*/true));
  add(std::make_shared<blocks::RefuseHires>());
  add(std::make_shared<blocks::SizeOfNoise>(given_noise));
  add(std::make_shared<z_image::OmniSize>());
  add(std::make_shared<blocks::StartNoise>());
  add(std::make_shared<z_image::EncodeOmniPrompt>());
  add(std::make_shared<z_image::EncodeCaptions>(image));
  add(std::make_shared<z_image::LookAtImages>(image));
  add(std::make_shared<blocks::SetShiftedTimesteps>(
      blocks::LevelShift{blocks::linear_mu, ZImageTransformer2DConfig::patch_size}, Trigger{}));
  add(std::make_shared<blocks::TakeNoiseOfImages>(given_noise));
  add(std::make_shared<blocks::PrepareLatents>(Trigger{}));
  add(std::make_shared<z_image::EncodeOmniImages>(image));
  add(std::make_shared<z_image::GoByImages>(image));
  add(std::make_shared<blocks::DenoiseLoop>(blocks::DenoiseOptions{
      .network = "transformer", .text_mask = z_image::prompt_attention_mask.name}));
  add(std::make_shared<blocks::DecodeLatents>());
  add(std::make_shared<blocks::UpscaleMade>());
  add(std::make_shared<blocks::ExportImages>());
  return list;
}

std::vector<ModelSpec> omni_entries() {
  std::vector<ModelSpec> all;
  for (const std::string task : {"text2image", "edit"}) {
    ModelSpec made;
    made.maturity = "beta";
    made.id = omni_id;
    made.task = task;
    made.resource_hint = {26, 22};
    made.default_config = {{"num_inference_steps", 50}, {"guidance_scale", 5.0}};
    made.presets = {{Preset::fast, {{"num_inference_steps", 28}}},
                    {Preset::quality, {{"num_inference_steps", 50}}}};
    for (auto& [preset, values] : made.presets)
      values["scheduler"] = "FlowMatchEulerDiscreteScheduler";
    made.supported_schedulers = blocks::schedulers_that_take_levels();
    made.summary = "Z-Image Omni, which goes by images, too";
    made.example = fmt::format("omnirt generate --model {}{} --prompt \"{}\" -o made.png", omni_id,
                               task == "edit" ? " --image in.png" : "",
                               task == "edit" ? "make it night" : "a red cup on a table");
    all.push_back(made);
    ModelSpec other;
    other.id = "zimage-omni";
    other.task = task;
    other.alias_of = omni_id;
    all.push_back(other);
  }
  return all;
}

}  // namespace

Family z_image_omni() {
  return {.name = "z_image_omni",
          .tasks = {{"text2image", {}}, {"edit", {"image"}}},
          .blocks = omni_blocks(),
          .entries = omni_entries(),
          .pipeline_classes = {"ZImageOmniPipeline"},
          .variant_of = [](const PipelineFolder&) { return std::string(omni_id); },
          .adopt_scheduler = {},
          .shifts_by_size = true,
          .adapter_families = z_image::adapter_families(),
          .previews = {{"", blocks::flux_latents()}},
          .guider = "cfg_original",
          .guider_keys = z_image::guider_keys()};
}

}  // namespace omnirt::families
