#include "families/sdxl/sdxl.hpp"

#include "blocks/check_unet.hpp"
#include "blocks/control_blocks.hpp"
#include "blocks/denoise.hpp"
#include "blocks/entities.hpp"
#include "blocks/export_images.hpp"
#include "blocks/export_latents.hpp"
#include "blocks/given_latents.hpp"
#include "blocks/hires.hpp"
#include "blocks/image_size.hpp"
#include "blocks/inpaint.hpp"
#include "blocks/latent_colours.hpp"
#include "blocks/latents.hpp"
#include "blocks/prompt_turns.hpp"
#include "blocks/start_noise.hpp"
#include "blocks/upscale_images.hpp"
#include "blocks/windows.hpp"
#include "families/sdxl/check.hpp"
#include "families/sdxl/encode_prompt.hpp"
#include "families/sdxl/entries.hpp"
#include "families/sdxl/latents.hpp"
#include "families/sdxl/single_file.hpp"
#include "families/sdxl/time_ids.hpp"
#include "families/sdxl/timesteps.hpp"

namespace omnirt::families {
namespace {

using namespace blocks;

DenoiseOptions denoise_options(const char* time_ids = "add_time_ids") {
  DenoiseOptions options{.constants = entity_inputs()};
  options.constants.push_back(
      {"pooled_prompt_embeds", "text_embeds", "what the prompt means as a whole"});
  options.constants.push_back({time_ids, "time_ids", "sizes and scores, conditions of the UNet"});
  return options;
}

void add_conditions(BlockList& list, const Trigger& from_noise) {
  const Trigger two = has_component("text_encoder");
  const Trigger scored = index_is("requires_aesthetics_score", true);
  const Trigger texts = !has_encoded_prompt();
  list.push_back(std::make_shared<EncodePromptFirst>(texts && two));
  list.push_back(std::make_shared<EncodePromptSecond>(texts && two));
  list.push_back(std::make_shared<EncodePromptAlone>(texts && !two));
  list.push_back(std::make_shared<TakeEncodedPromptXL>());
  list.push_back(std::make_shared<PlaceEntities>(has_entities()));
  list.push_back(std::make_shared<TimeIds>("time_ids", true, from_noise && !scored));
  list.push_back(std::make_shared<TimeIds>("time_ids_of_image", false, !from_noise && !scored));
  list.push_back(std::make_shared<AestheticTimeIds>(scored));
}

BlockList sdxl_blocks() {
  // Given latents are another run's, or the noise that this one starts from: the task says which.
  const Trigger image = has("image"), mask = has("mask"), noise = is_task("text2image");
  const Trigger given = has("latents") && !mask && !noise;
  const Trigger encoded = image && !mask, inpaint = image && mask;
  const Trigger from_noise = !image && !mask && (!has("latents") || noise);
  const Trigger given_noise = has("latents") && noise, from_image = encoded || given;
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  // The order of these is the order of draws from the noise source.
  add(std::make_shared<CheckXL>());
  for (auto& block : control_checks()) list.push_back(block);
  add(std::make_shared<CheckUNet>(std::vector<std::string>{"text_encoder", "text_encoder_2"}));
  add(std::make_shared<SizeOfNoise>(given_noise));
  add_image_sizes(list, from_noise, encoded, inpaint);
  add(std::make_shared<SizeOfLatents>(given));
  const Trigger hires = asks_for_hires() && from_noise;
  add(std::make_shared<RefuseHires>(!from_noise));
  add(std::make_shared<HiresSize>(hires));
  add(std::make_shared<StartNoise>(!has_encoded_prompt()));
  add(std::make_shared<StartNoiseOfEncoded>());
  add_conditions(list, from_noise);
  add(std::make_shared<HiresTimeIds>(hires));
  add(std::make_shared<SetTimestepsXL>(from_noise));
  add(std::make_shared<SetPartialTimestepsXL>(!from_noise));
  const Trigger pixels = inpaint && !writes_latents();
  for (auto& block : given_image_blocks(image, pixels)) list.push_back(block);
  add(std::make_shared<TakeNoiseOfImages>(given_noise));
  add(std::make_shared<PrepareLatents>(from_noise));
  add(std::make_shared<EncodeImage>(encoded || (inpaint && !has_mask_channels())));
  add(std::make_shared<EncodeImageBelowFullStrength>(inpaint && has_mask_channels()));
  add(std::make_shared<TakeLatents>(given));
  add(std::make_shared<NoiseImageLatentsXL>("noise_image_latents", false, from_image));
  add(std::make_shared<NoiseImageLatentsXL>("noise_inpaint_latents", true, inpaint));
  add(std::make_shared<PrepareMask>(inpaint));
  add(std::make_shared<EncodeMaskedImage>(inpaint && has_mask_channels()));
  add(std::make_shared<KeepUnmasked>(inpaint && !has_mask_channels()));
  add(std::make_shared<PutBackUnmasked>(inpaint && !has_mask_channels()));
  add(std::make_shared<TakePromptTurns>(
      std::vector<TakePromptTurns::Turned>{{"encoder_hidden_states", slots::prompt_embeds},
                                           {"text_embeds", xl_slots::pooled_prompt_embeds}}));
  for (auto& block : hires_controls(hires)) list.push_back(block);
  for (auto& block : control_steps()) list.push_back(block);
  const Trigger windows = has_config(keys::window_size.name) && !mask;
  const Trigger circular = windows && has_config(keys::circular_padding.name);
  add_denoise_loops(list, denoise_options(), windows);
  add_hires(list,
            std::make_shared<DenoiseHires>(hires_options(denoise_options("hires_time_ids"), hires)),
            hires);
  add(std::make_shared<DecodeLatents>(!writes_latents() && !circular && !hires));
  add(std::make_shared<DecodeCircular>(!writes_latents() && circular));
  for (auto& block : put_back_blocks(pixels)) list.push_back(block);
  add(std::make_shared<UpscaleMade>(!writes_latents() && has_component("upscaler")));
  add(std::make_shared<ExportImages>(!writes_latents()));
  add(std::make_shared<ExportLatents>());
  return list;
}

const Json& config_of(const PipelineFolder& folder, const char* component) {
  static const Json empty = Json::object();
  const ComponentFolder* found = folder.find(component);
  return found ? found->config : empty;
}

// Which stock model a folder is a variant of. The distilled models come with a schedule that begins
// at the last timestep and a sampler that adds noise at each step.
std::string variant_of(const PipelineFolder& folder) {
  if (folder.index.value("requires_aesthetics_score", Json(false)) == true) return "sdxl-refiner";
  if (config_of(folder, "unet").value("in_channels", Json(4)) == 9) return "sdxl-inpainting";
  const ComponentFolder* scheduler = folder.find("scheduler");
  bool distilled = scheduler && scheduler->class_name == "EulerAncestralDiscreteScheduler" &&
                   scheduler->config.value("timestep_spacing", Json()) == "trailing";
  return distilled ? "sdxl-turbo" : "sdxl";
}

// Of the UNet's deeper transformers, its attention over the prompt, and the second text encoder.
std::vector<AdapterFamily> sdxl_adapter_families() {
  return {{.name = "Stable Diffusion XL",
           .ids = {"sdxl", "sdxl-turbo", "sdxl-refiner", "sdxl-inpainting"},
           .marks = {{"attn2_to_k", 2048},
                     {"attn2_to_v", 2048},
                     {"attentions_0_transformer_blocks_1_"},
                     {"middle_block_1_transformer_blocks_1_"},
                     {"text_encoder_2:text_model_"}},
           .metadata = {"sdxl", "stable-diffusion-xl"},
           .embedding_widths = {768, 1280}}};
}

}  // namespace

Family sdxl() {
  return {.name = "sdxl",
          .tasks = {{"text2image", {}},
                    {"image2image", {"image"}},
                    {"image2image", {"latents"}},
                    {"text2image", {"latents"}},
                    {"inpaint", {"image", "mask"}}},
          .blocks = sdxl_blocks(),
          .entries = sdxl_entries(),
          .pipeline_classes = {"StableDiffusionXLPipeline", "StableDiffusionXLImg2ImgPipeline",
                               "StableDiffusionXLInpaintPipeline",
                               "StableDiffusionXLControlNetPipeline",
                               "StableDiffusionXLControlNetImg2ImgPipeline",
                               "StableDiffusionXLControlNetInpaintPipeline"},
          .variant_of = variant_of,
          .adopt_scheduler = {},
          .single_files = {sdxl_single_file()},
          .upcasts_autoencoder = true,
          .adapter_families = sdxl_adapter_families(),
          .text_encoders = {{"text_encoder", "tokenizer", "clip_l"},
                            {"text_encoder_2", "tokenizer_2", "clip_g"}},
          .previews = {{"", blocks::sdxl_latents()}}};
}

}  // namespace omnirt::families
