#include "families/qwen_image/entries.hpp"

#include <fmt/format.h>

#include "blocks/shifted_timesteps.hpp"

namespace omnirt::qwen_image {
namespace {

constexpr const char* base = "qwen-image";

struct Model {
  const char* id;
  const char* summary;
  std::vector<std::string> hub_ids;
};

const std::vector<Model>& models() {
  static const std::vector<Model> all{
      {base, "Qwen-Image, 20B: images with text in them", {"Qwen/Qwen-Image"}},
      {"qwen-image-2512", "Qwen-Image as of December 2025", {"Qwen/Qwen-Image-2512"}}};
  return all;
}

std::string example(const std::string& id, const std::string& task) {
  std::string inputs = task == "text2image"    ? ""
                       : task == "image2image" ? " --image in.png"
                                               : " --image in.png --mask mask.png";
  return fmt::format(
      "omnirt generate --model {}{} --prompt \"a shop sign that says OPEN\" -o "
      "made.png",
      id, inputs);
}

ModelSpec entry(const Model& model, const std::string& task) {
  ModelSpec made;
  made.maturity = "beta";
  made.id = model.id;
  made.task = task;
  made.resource_hint = {60, 60};
  made.default_config = {{"num_inference_steps", 30}, {"guidance_scale", 4.0}};
  // The size that the model was trained at; an image that is given is made at the reference's.
  if (task == "text2image") made.default_config.update({{"width", 1328}, {"height", 1328}});
  if (task != "text2image") made.default_config["strength"] = 0.6;
  Json fast = {{"scheduler", "FlowMatchEulerDiscreteScheduler"}, {"num_inference_steps", 20}};
  made.presets = {{Preset::fast, fast}, {Preset::quality, {{"num_inference_steps", 50}}}};
  made.supported_schedulers = blocks::schedulers_that_take_levels();
  made.summary = model.summary;
  made.example = example(model.id, task);
  made.hub_ids = model.hub_ids;
  return made;
}

}  // namespace

std::vector<ModelSpec> entries() {
  std::vector<ModelSpec> all;
  for (const Model& model : models()) {
    for (const char* task : {"text2image", "image2image", "inpaint"}) {
      all.push_back(entry(model, task));
      if (model.id != std::string(base)) continue;
      ModelSpec alias;
      alias.id = "qwen_image";
      alias.task = task;
      alias.alias_of = base;
      all.push_back(alias);
    }
  }
  return all;
}

std::string variant_of(const PipelineFolder& /*folder*/) {
  return base;
}

}  // namespace omnirt::qwen_image
