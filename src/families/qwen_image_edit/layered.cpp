#include "families/qwen_image_edit/layered.hpp"

#include <fmt/format.h>

#include <cmath>

#include "blocks/denoise.hpp"
#include "blocks/export_images.hpp"
#include "blocks/hires.hpp"
#include "blocks/qwen_image_prompt.hpp"
#include "blocks/shifted_timesteps.hpp"
#include "blocks/start_noise.hpp"
#include "families/qwen_image_edit/layered_blocks.hpp"
#include "nn/patches.hpp"

namespace omnirt::families {
namespace {

constexpr const char* layered = "qwen-image-layered";

// By the tokens of one layer alone (reference: QwenImageLayeredPipeline.__call__, mu).
double mu_of_layers(const Json& /*scheduler_config*/, int64_t tokens, int64_t /*steps*/) {
  constexpr double base = 256;
  return std::sqrt(static_cast<double>(tokens) / base);
}

blocks::DenoiseOptions layered_denoise_options() {
  namespace edit = qwen_image_edit;
  auto constant = [](const auto& slot) {
    return blocks::ConstantInput{slot.name, slot.name, slot.help};
  };
  const auto& mask = blocks::prompt_embeds_mask;
  return {.network = "transformer",
          .constants = {{mask.name, "encoder_attention_mask", mask.help},
                        constant(slots::reference_latents),
                        constant(slots::reference_ids),
                        constant(edit::text_start),
                        constant(edit::sample_ids),
                        constant(edit::additional_t_cond)}};
}

BlockList layered_blocks() {
  namespace edit = qwen_image_edit;
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  add(std::make_shared<edit::CheckLayered>());
  add(std::make_shared<blocks::RefuseHires>());
  add(std::make_shared<blocks::StartNoise>());
  add(std::make_shared<blocks::EncodeQwenImagePrompt>());
  const blocks::LevelShift by_tokens{.mu = mu_of_layers, .patch = nn::patch_side};
  add(std::make_shared<blocks::SetShiftedTimesteps>(by_tokens, Trigger{}));
  add(std::make_shared<edit::EncodeWhole>());
  add(std::make_shared<edit::PrepareLayers>());
  add(std::make_shared<blocks::DenoiseLoop>(layered_denoise_options()));
  add(std::make_shared<edit::DecodeLayers>());
  add(std::make_shared<blocks::ExportImages>());
  return list;
}

ModelSpec layered_entry() {
  ModelSpec made;
  made.maturity = "beta";
  made.id = layered;
  made.task = "edit";
  made.resource_hint = {60, 60};
  made.default_config = {{"num_inference_steps", 50}, {"guidance_scale", 4.0}};
  Json fast = {{"scheduler", "FlowMatchEulerDiscreteScheduler"}, {"num_inference_steps", 20}};
  made.presets = {{Preset::fast, fast}, {Preset::quality, {{"num_inference_steps", 50}}}};
  made.supported_schedulers = blocks::schedulers_that_take_levels();
  made.summary = "Qwen-Image-Layered: an image taken apart into layers with alpha";
  made.example = fmt::format(
      "omnirt generate --model {} --image in.png --prompt \"a shop on a street\" -o layers.png",
      layered);
  made.hub_ids = {"Qwen/Qwen-Image-Layered"};
  return made;
}

}  // namespace

Family qwen_image_layered() {
  return {.name = "qwen_image_layered",
          .tasks = {{"edit", {"image"}}},
          .blocks = layered_blocks(),
          .entries = {layered_entry()},
          .pipeline_classes = {"QwenImageLayeredPipeline"},
          .variant_of = [](const PipelineFolder&) { return std::string(layered); },
          .adopt_scheduler = {},
          .shifts_by_size = true};
}

}  // namespace omnirt::families
