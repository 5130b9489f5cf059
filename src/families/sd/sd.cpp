#include "families/sd/sd.hpp"

#include <algorithm>

#include "blocks/check_unet.hpp"
#include "blocks/control_blocks.hpp"
#include "blocks/denoise.hpp"
#include "blocks/encode_prompt.hpp"
#include "blocks/encoded_prompt.hpp"
#include "blocks/entities.hpp"
#include "blocks/export_images.hpp"
#include "blocks/given_latents.hpp"
#include "blocks/hires.hpp"
#include "blocks/image_size.hpp"
#include "blocks/inpaint.hpp"
#include "blocks/latents.hpp"
#include "blocks/prompt_turns.hpp"
#include "blocks/set_timesteps.hpp"
#include "blocks/start_noise.hpp"
#include "blocks/upscale_images.hpp"
#include "blocks/windows.hpp"
#include "families/sd/entries.hpp"
#include "families/sd/previews.hpp"
#include "families/sd/single_file.hpp"

namespace omnirt::families {
namespace {

using namespace blocks;

BlockList sd_blocks() {
  const Trigger image = has("image"), mask = has("mask");
  const Trigger from_image = image && !mask, inpaint = image && mask, from_noise = !image && !mask;
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  // The order of these is the order of draws from the noise source.
  add(std::make_shared<CheckUNet>(std::vector<std::string>{"text_encoder"}));
  for (auto& block : control_checks()) list.push_back(block);
  const Trigger given_noise = has("latents") && from_noise;
  add(std::make_shared<SizeOfNoise>(given_noise));
  add_image_sizes(list, from_noise, from_image, inpaint);
  const Trigger hires = asks_for_hires() && from_noise;
  add(std::make_shared<RefuseHires>(!from_noise));
  add(std::make_shared<HiresSize>(hires));
  add(std::make_shared<StartNoise>(!has_encoded_prompt()));
  add(std::make_shared<StartNoiseOfEncoded>());
  add(std::make_shared<EncodePrompt>(!has_encoded_prompt()));
  add(std::make_shared<TakeEncodedPrompt>());
  add(std::make_shared<PlaceEntities>(has_entities()));
  add(std::make_shared<SetTimesteps>(from_noise));
  add(std::make_shared<SetPartialTimesteps>(image));
  for (auto& block : given_image_blocks(image, inpaint)) list.push_back(block);
  add(std::make_shared<TakeNoiseOfImages>(given_noise));
  add(std::make_shared<PrepareLatents>(from_noise));
  add(std::make_shared<EncodeImage>(from_image || (inpaint && !has_mask_channels())));
  add(std::make_shared<EncodeImageBelowFullStrength>(inpaint && has_mask_channels()));
  add(std::make_shared<NoiseImageLatents>("noise_image_latents", false, from_image));
  add(std::make_shared<NoiseImageLatents>("noise_inpaint_latents", true, inpaint));
  add(std::make_shared<PrepareMask>(inpaint));
  add(std::make_shared<EncodeMaskedImage>(inpaint && has_mask_channels()));
  add(std::make_shared<KeepUnmasked>(inpaint && !has_mask_channels()));
  add(std::make_shared<PutBackUnmasked>(inpaint && !has_mask_channels()));
  add(std::make_shared<TakePromptTurns>(
      std::vector<TakePromptTurns::Turned>{{"encoder_hidden_states", slots::prompt_embeds}}));
  for (auto& block : hires_controls(hires)) list.push_back(block);
  for (auto& block : control_steps()) list.push_back(block);
  const Trigger windows = has_config(keys::window_size.name) && !mask;
  const Trigger circular = windows && has_config(keys::circular_padding.name);
  add_denoise_loops(list, {.constants = entity_inputs()}, windows);
  add_hires(list,
            std::make_shared<DenoiseHires>(hires_options({.constants = entity_inputs()}, hires)),
            hires);
  add(std::make_shared<DecodeLatents>(!circular && !hires));
  add(std::make_shared<DecodeCircular>(circular));
  for (auto& block : put_back_blocks(inpaint)) list.push_back(block);
  add(std::make_shared<UpscaleMade>());
  add(std::make_shared<ExportImages>());
  return list;
}

// Which stock model a folder is a variant of, by the width of its text embeddings.
std::string variant_of(const PipelineFolder& folder) {
  const ComponentFolder* unet = folder.find("unet");
  Json width = unet && unet->config.contains("cross_attention_dim")
                   ? unet->config["cross_attention_dim"]
                   : Json();
  if (width == 1024) return "sd21";
  return "sd15";
}

// Sets `key` where the file has it, or where the class that the file names has it with another
// default.
void force(const SchedulerAdoption& adoption, Json& config, const char* key, const Json& value) {
  const auto& keys = adoption.info.config_keys;
  bool known = std::ranges::find(keys, key) != keys.end();
  if (config.contains(key) || (adoption.own && known)) config[key] = value;
}

// Stable Diffusion's pipelines set these as they take a scheduler over, whatever its file says
// (reference: __init__ of StableDiffusionPipeline and of its image2image and inpaint forms).
void adopt_scheduler(const SchedulerAdoption& adoption, Json& config) {
  force(adoption, config, "steps_offset", 1);
  if (adoption.task == "inpaint")
    force(adoption, config, "skip_prk_steps", true);
  else
    force(adoption, config, "clip_sample", false);
}

// The widths are those of the text embeddings, which attention over the prompt takes. The text
// encoder of 1.x is a part of other models too, so its layers show nothing.
std::vector<AdapterFamily> sd_adapter_families() {
  return {{.name = "Stable Diffusion 1.x",
           .ids = {"sd15", "emoji-sd"},
           .marks = {{"attn2_to_k", 768}, {"attn2_to_v", 768}},
           .metadata = {"sd_v1", "stable-diffusion-v1"},
           .embedding_widths = {768}},
          {.name = "Stable Diffusion 2.x",
           .ids = {"sd21"},
           .marks = {{"attn2_to_k", 1024},
                     {"attn2_to_v", 1024},
                     {"text_encoder:text_model_encoder_layers", 1024},
                     {"text_encoder:encoder_layers", 1024}},
           .metadata = {"sd_v2", "stable-diffusion-v2"},
           .embedding_widths = {1024}}};
}

}  // namespace

Family sd() {
  return {.name = "sd",
          .tasks = {{"text2image", {}}, {"image2image", {"image"}}, {"inpaint", {"image", "mask"}}},
          .blocks = sd_blocks(),
          .entries = sd_entries(),
          .pipeline_classes = {"StableDiffusionPipeline", "StableDiffusionImg2ImgPipeline",
                               "StableDiffusionInpaintPipeline"},
          .variant_of = variant_of,
          .adopt_scheduler = adopt_scheduler,
          .single_files = {sd_single_file()},
          .adapter_families = sd_adapter_families(),
          .text_encoders = {{"text_encoder", "tokenizer", "clip_l"}},
          .previews = sd_previews()};
}

}  // namespace omnirt::families
