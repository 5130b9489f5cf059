#include "families/qwen_image_edit/entries.hpp"

#include <fmt/format.h>

#include "blocks/shifted_timesteps.hpp"

namespace omnirt::qwen_image_edit {
namespace {

struct EditModel {
  const char* id;
  const char* summary;
  const char* hub_id;
};

constexpr EditModel edit_models[] = {
    {"qwen-image-edit", "Qwen-Image-Edit: one image", "Qwen/Qwen-Image-Edit"},
    {"qwen-image-edit-2509", "Qwen-Image-Edit as of September 2025: several images",
     "Qwen/Qwen-Image-Edit-2509"},
    {"qwen-image-edit-2511", "Qwen-Image-Edit as of November 2025: several images",
     "Qwen/Qwen-Image-Edit-2511"}};

// Of the model that takes one image (reference: QwenImageEditInpaintPipeline).
ModelSpec inpaint_entry(ModelSpec made) {
  made.task = "inpaint";
  made.default_config["strength"] = 0.6;
  made.example = fmt::format(
      "omnirt generate --model {} --image in.png --mask mask.png --prompt \"a red sky\" -o "
      "made.png",
      made.id);
  return made;
}

ModelSpec edit_entry(const EditModel& model) {
  ModelSpec made;
  made.maturity = "beta";
  made.id = model.id;
  made.task = "edit";
  made.resource_hint = {60, 60};
  made.default_config = {{"num_inference_steps", 50}, {"guidance_scale", 4.0}};
  Json fast = {{"scheduler", "FlowMatchEulerDiscreteScheduler"}, {"num_inference_steps", 20}};
  made.presets = {{Preset::fast, fast}, {Preset::quality, {{"num_inference_steps", 50}}}};
  made.supported_schedulers = blocks::schedulers_that_take_levels();
  made.summary = model.summary;
  made.example = fmt::format(
      "omnirt generate --model {} --image in.png --prompt \"make the sky red\" -o made.png",
      model.id);
  made.hub_ids = {model.hub_id};
  return made;
}

}  // namespace

std::vector<ModelSpec> entries() {
  std::vector<ModelSpec> all;
  for (const EditModel& model : edit_models) all.push_back(edit_entry(model));
  all.push_back(inpaint_entry(all.front()));
  return all;
}

std::string variant_of(const PipelineFolder& folder) {
  if (folder.class_name != "QwenImageEditPlusPipeline") return "qwen-image-edit";
  const ComponentFolder* transformer = folder.find("transformer");
  Json later = transformer ? transformer->config.value("zero_cond_t", Json()) : Json();
  return later == Json(true) ? "qwen-image-edit-2511" : "qwen-image-edit-2509";
}

}  // namespace omnirt::qwen_image_edit
