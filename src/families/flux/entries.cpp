#include "families/flux/entries.hpp"

#include <fmt/format.h>

namespace omnirt::flux {
namespace {

constexpr const char* schnell = "flux1.schnell";
constexpr const char* dev = "flux1.dev";

std::string flux_example(const std::string& id, const std::string& task) {
  std::string inputs = task == "text2image"    ? ""
                       : task == "image2image" ? " --image in.png"
                                               : " --image in.png --mask mask.png";
  return fmt::format("omnirt generate --model {}{} --prompt \"a red cup on a table\" -o made.png",
                     id, inputs);
}

// Levels of noise are given to the scheduler, as the reference does.
std::vector<std::string> schedulers_that_take_even_levels() {
  std::vector<std::string> names = schedulers_for(SchedulerFor::flow_matching);
  std::erase_if(names, [](const std::string& name) {
    return !find_scheduler(name)->make(Json::object(), name)->takes_even_levels();
  });
  return names;
}

Json fast_preset(int64_t steps) {
  Json fast = {{"scheduler", "FlowMatchEulerDiscreteScheduler"}};
  fast["num_inference_steps"] = steps;
  return fast;
}

ModelSpec flux_entry(const std::string& id, const std::string& task) {
  ModelSpec made;
  made.id = id;
  made.task = task;
  made.resource_hint = {34, 25};
  bool distilled = id == schnell;
  made.default_config = {{"num_inference_steps", distilled ? 4 : 28}, {"true_cfg_scale", 1.0}};
  // schnell takes no scale; its model card has the length.
  if (distilled)
    made.default_config["max_sequence_length"] = 256;
  else
    made.default_config["guidance_scale"] = task == "text2image" ? 3.5 : 7.0;
  if (task != "text2image") made.default_config["strength"] = 0.6;
  made.presets = {{Preset::fast, fast_preset(distilled ? 4 : 20)},
                  {Preset::quality, {{"num_inference_steps", distilled ? 8 : 50}}}};
  made.supported_schedulers = schedulers_that_take_even_levels();
  made.summary = distilled ? "FLUX.1 schnell, distilled to 4 steps"
                           : "FLUX.1 dev, which takes the guidance scale as an input";
  made.example = flux_example(id, task);
  made.hub_ids = {distilled ? "black-forest-labs/FLUX.1-schnell" : "black-forest-labs/FLUX.1-dev"};
  return made;
}

}  // namespace

std::vector<ModelSpec> entries() {
  std::vector<ModelSpec> all;
  auto alias = [&](const std::string& name, const std::string& id, const std::string& task) {
    ModelSpec other;
    other.id = name;
    other.task = task;
    other.alias_of = id;
    all.push_back(other);
  };
  for (const std::string variant : {"schnell", "dev"}) {
    for (const char* task : {"text2image", "image2image", "inpaint"}) {
      const std::string id = "flux1." + variant;
      all.push_back(flux_entry(id, task));
      for (const char* name : {"flux1-", "flux.1-", "flux-"}) alias(name + variant, id, task);
    }
  }
  return all;
}

std::string variant_of(const PipelineFolder& folder) {
  const ComponentFolder* transformer = folder.find("transformer");
  bool guided =
      transformer && transformer->config.value("guidance_embeds", Json(false)) == Json(true);
  return guided ? dev : schnell;
}

}  // namespace omnirt::flux
