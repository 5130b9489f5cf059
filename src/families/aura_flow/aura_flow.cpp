#include "families/aura_flow/aura_flow.hpp"

#include "blocks/denoise.hpp"
#include "blocks/export_images.hpp"
#include "blocks/given_latents.hpp"
#include "blocks/hires_in_tokens.hpp"
#include "blocks/latent_colours.hpp"
#include "blocks/latents.hpp"
#include "blocks/set_timesteps.hpp"
#include "blocks/shifted_timesteps.hpp"
#include "blocks/start_noise.hpp"
#include "blocks/upscale_images.hpp"
#include "families/aura_flow/check.hpp"
#include "families/aura_flow/encode_prompt.hpp"

namespace omnirt::families {
namespace {

constexpr const char* id = "aura-flow";

blocks::DenoiseOptions denoise_options() {
  return {.network = "transformer"};
}

blocks::TokenSides aura_flow_tokens(const AuraFlowTransformer2DModel& network) {
  return {network.positions_side(), network.positions_side()};
}

BlockList aura_flow_blocks() {
  const Trigger given_noise = has("latents"), hires = blocks::asks_for_hires();
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  add(std::make_shared<aura_flow::CheckParts>());
  add(std::make_shared<blocks::SizeOfNoise>(given_noise));
  add(std::make_shared<aura_flow::ImageSize>());
  add(std::make_shared<blocks::HiresSizeInTokens<AuraFlowTransformer2DModel>>(hires,
                                                                              aura_flow_tokens));
  add(std::make_shared<blocks::StartNoise>());
  add(std::make_shared<aura_flow::EncodePrompt>());
  add(std::make_shared<blocks::SetTimesteps>(Trigger{}));
  add(std::make_shared<blocks::TakeNoiseOfImages>(given_noise));
  add(std::make_shared<blocks::PrepareLatents>(Trigger{}));
  add(std::make_shared<blocks::DenoiseLoop>(denoise_options()));
  blocks::add_hires(
      list, std::make_shared<blocks::DenoiseHires>(blocks::hires_options(denoise_options(), hires)),
      hires);
  add(std::make_shared<blocks::DecodeLatents>(!hires));
  add(std::make_shared<blocks::UpscaleMade>());
  add(std::make_shared<blocks::ExportImages>());
  return list;
}

std::vector<ModelSpec> entries() {
  ModelSpec made;
  made.maturity = "beta";
  made.id = id;
  made.task = "text2image";
  made.resource_hint = {20, 18};
  made.default_config = {
      {"num_inference_steps", 50}, {"guidance_scale", 3.5}, {"max_sequence_length", 256}};
  const Json scheduler = {{"scheduler", "FlowMatchEulerDiscreteScheduler"}};
  made.presets = {{Preset::fast, scheduler}, {Preset::quality, scheduler}};
  made.presets[Preset::fast]["num_inference_steps"] = 25;
  made.presets[Preset::quality]["num_inference_steps"] = 50;
  made.supported_schedulers = blocks::compared_flow_schedulers();
  made.summary = "AuraFlow, 6.8B, under UMT5";
  made.example = "omnirt generate --model aura-flow --prompt \"a red cup on a table\" -o made.png";
  made.hub_ids = {"fal/AuraFlow-v0.3", "fal/AuraFlow-v0.2", "fal/AuraFlow"};
  ModelSpec alias;
  alias.id = "auraflow";
  alias.task = "text2image";
  alias.alias_of = id;
  return {made, alias};
}

std::vector<AdapterFamily> adapter_families() {
  return {{.name = "AuraFlow",
           .ids = {id},
           .marks = {{"denoiser:joint_transformer_blocks_"}, {"denoiser:double_layers_"}},
           .metadata = {"auraflow", "aura-flow", "aura_flow"},
           .embedding_widths = {}}};
}

}  // namespace

Family aura_flow() {
  return {.name = "aura_flow",
          .tasks = {{"text2image", {}}},
          .blocks = aura_flow_blocks(),
          .entries = entries(),
          .pipeline_classes = {"AuraFlowPipeline"},
          .variant_of = [](const PipelineFolder&) { return std::string(id); },
          .adopt_scheduler = {},
          .upcasts_autoencoder = true,
          .adapter_families = adapter_families(),
          .previews = {{"", blocks::sdxl_latents()}}};
}

}  // namespace omnirt::families
