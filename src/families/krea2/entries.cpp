#include "families/krea2/entries.hpp"

#include <fmt/format.h>

#include "blocks/shifted_timesteps.hpp"

namespace omnirt::krea2 {
namespace {

constexpr const char* base = "krea-2";
constexpr const char* turbo = "krea-2-turbo";

ModelSpec entry(const std::string& id) {
  const bool distilled = id == turbo;
  ModelSpec made;
  made.maturity = "beta";
  made.id = id;
  made.task = "text2image";
  made.resource_hint = {36, 34};
  made.default_config = {{"num_inference_steps", distilled ? 8 : 28},
                         {"guidance_scale", distilled ? 0.0 : 4.5}};
  made.presets = {{Preset::fast, {{"num_inference_steps", distilled ? 8 : 20}}},
                  {Preset::quality, {{"num_inference_steps", distilled ? 8 : 50}}}};
  for (auto& [preset, values] : made.presets)
    values["scheduler"] = "FlowMatchEulerDiscreteScheduler";
  made.supported_schedulers = blocks::schedulers_that_take_levels();
  made.summary = distilled ? "Krea 2 Turbo, distilled to 8 steps without guidance"
                           : "Krea 2, 12B: reads 12 layers of Qwen3-VL";
  made.example =
      fmt::format("omnirt generate --model {} --prompt \"a red cup on a table\" -o made.png", id);
  if (!distilled) made.hub_ids = {"krea/Krea-2-Raw"};
  return made;
}

}  // namespace

std::vector<ModelSpec> entries() {
  return {entry(base), entry(turbo)};
}

// A modular pipeline's index has no is_distilled, but the name of its blocks; its class may be the
// undistilled one's (diffusers modular_blocks_krea2_turbo.py).
Trigger is_distilled() {
  return index_is("is_distilled", true) || index_is("_class_name", "Krea2TurboModularPipeline") ||
         index_is("_blocks_class_name", "Krea2TurboAutoBlocks");
}

std::string variant_of(const PipelineFolder& folder) {
  Facts facts;
  facts.index = folder.index;
  return is_distilled()(facts) ? turbo : base;
}

std::vector<AdapterFamily> adapter_families() {
  return {{.name = "Krea 2",
           .ids = {base, turbo},
           .marks = {{"denoiser:text_fusion_"}, {"denoiser:txtfusion_"}, {"_attn_to_gate"}},
           .metadata = {"krea2", "krea-2", "Krea-2"},
           .embedding_widths = {}}};
}

}  // namespace omnirt::krea2
