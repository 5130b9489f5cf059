#include "families/z_image/entries.hpp"

#include <fmt/format.h>

#include <array>

#include "blocks/shifted_timesteps.hpp"
#include "guiders/original_guidance.hpp"

namespace omnirt::z_image {
namespace {

constexpr const char* base = "z-image";
constexpr const char* turbo = "z-image-turbo";

struct Task {
  const char* name;
  const char* inputs;  // of the example
  double strength;     // the reference's; 0: none
};
constexpr std::array tasks{Task{"text2image", "", 0.0}, Task{"image2image", " --image in.png", 0.6},
                           Task{"inpaint", " --image in.png --mask mask.png", 1.0}};

ModelSpec entry(const std::string& id, const Task& task) {
  const bool distilled = id == turbo;
  ModelSpec made;
  made.maturity = "beta";
  made.id = id;
  made.task = task.name;
  made.resource_hint = {24, 21};
  made.default_config = {{"num_inference_steps", distilled ? 8 : 50},
                         {"guidance_scale", distilled ? 0.0 : 5.0}};
  made.default_config_with["controlnet"] = {{"controlnet_conditioning_scale", 0.75}};
  if (task.strength > 0) made.default_config["strength"] = task.strength;
  made.presets = {{Preset::fast, {{"num_inference_steps", distilled ? 8 : 28}}},
                  {Preset::quality, {{"num_inference_steps", distilled ? 9 : 50}}}};
  for (auto& [preset, values] : made.presets)
    values["scheduler"] = "FlowMatchEulerDiscreteScheduler";
  made.supported_schedulers = blocks::schedulers_that_take_levels();
  made.summary = distilled ? "Z-Image Turbo, distilled to 8 steps without guidance" : "Z-Image";
  made.example =
      fmt::format("omnirt generate --model {}{} --prompt \"a red cup on a table\" -o made.png", id,
                  task.inputs);
  made.hub_ids = {distilled ? "Tongyi-MAI/Z-Image-Turbo" : "Tongyi-MAI/Z-Image"};
  return made;
}

}  // namespace

std::vector<ModelSpec> entries() {
  std::vector<ModelSpec> all;
  for (const char* id : {base, turbo}) {
    for (const Task& task : tasks) {
      all.push_back(entry(id, task));
      ModelSpec other;
      other.id = id == base ? "zimage" : "zimage-turbo";
      other.task = task.name;
      other.alias_of = id;
      all.push_back(other);
    }
  }
  return all;
}

// Their folders differ in weights, and in how far the scheduler shifts: 3 for Turbo, 6 for Z-Image.
std::string variant_of(const PipelineFolder& folder) {
  const ComponentFolder* scheduler = folder.find("scheduler");
  Json shift = scheduler ? scheduler->config.value("shift", Json()) : Json();
  constexpr double shift_of_turbo = 3.0;
  return shift.is_number() && shift.get<double>() == shift_of_turbo ? turbo : base;
}

std::vector<AdapterFamily> adapter_families() {
  return {{.name = "Z-Image",
           .ids = {"z-image", "z-image-turbo", "z-image-omni"},
           .marks = {{"_feed_forward_w1"}, {"denoiser:context_refiner_"}},
           .metadata = {"zimage", "z-image", "z_image", "Z-Image"},
           .embedding_widths = {}}};
}

std::vector<const KeyInfo*> guider_keys() {
  return {&keys::guidance_scale, &omnirt::guider_keys::cfg_normalization,
          &omnirt::guider_keys::cfg_truncation};
}

}  // namespace omnirt::z_image
