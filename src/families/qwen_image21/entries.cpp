#include "families/qwen_image21/entries.hpp"

#include <fmt/format.h>

#include "blocks/shifted_timesteps.hpp"

namespace omnirt::qwen_image21 {
namespace {

constexpr const char* base = "qwen-image-2.1";
constexpr const char* turbo = "qwen-image-2.1-turbo";

ModelSpec entry(const std::string& id, const std::string& task) {
  const bool distilled = id == turbo;
  ModelSpec made;
  made.maturity = "beta";
  made.id = id;
  made.task = task;
  made.resource_hint = {34, 34};
  made.default_config = {{"num_inference_steps", distilled ? 8 : 40}, {"guidance_scale", 1.0}};
  const Json fast = {{"scheduler", "FlowMatchEulerDiscreteScheduler"},
                     {"num_inference_steps", distilled ? 8 : 20}};
  made.presets = {{Preset::fast, fast},
                  {Preset::quality, {{"num_inference_steps", distilled ? 8 : 50}}}};
  made.supported_schedulers = blocks::schedulers_that_take_levels();
  made.summary = distilled ? "Qwen-Image 2.1 Turbo, distilled to the few levels its folder says"
                           : "Qwen-Image 2.1, 7B: images with an alpha channel, read by Qwen3-VL";
  made.example = fmt::format(
      "omnirt generate --model {}{} --prompt \"a shop sign that says OPEN\" -o made.png", id,
      task == "edit" ? " --image in.png" : "");
  made.hub_ids = {distilled ? "Qwen/Qwen-Image-2.1-Turbo" : "Qwen/Qwen-Image-2.1"};
  return made;
}

}  // namespace

std::vector<ModelSpec> entries() {
  std::vector<ModelSpec> all;
  for (const char* id : {base, turbo})
    for (const char* task : {"text2image", "edit"}) all.push_back(entry(id, task));
  return all;
}

// As the reference tells them apart (diffusers modular_pipeline.py _qwenimage21_map_fn), or by the
// name of a modular pipeline.
std::string variant_of(const PipelineFolder& folder) {
  if (folder.class_name == "QwenImage21TurboModularPipeline") return turbo;
  const Json levels = folder.index.value("sample_sigmas", Json());
  return levels.is_array() && !levels.empty() ? turbo : base;
}

std::vector<AdapterFamily> adapter_families() {
  return {{.name = "Qwen-Image 2.1",
           .ids = {base, turbo},
           .marks = {{"_img_mlp_gate_layer"}, {"_img_mlp_gate_up"}, {"_img_mlp_out"}},
           .metadata = {"qwen_image_21", "qwen-image-2.1", "Qwen-Image-2.1"},
           .embedding_widths = {}}};
}

}  // namespace omnirt::qwen_image21
