#include "families/flux3/entries.hpp"

#include <fmt/format.h>

#include "blocks/shifted_timesteps.hpp"

namespace omnirt::flux3 {
namespace {

constexpr const char* klein = "flux3.klein";
constexpr const char* klein_base = "flux3.klein-base";

// As many tokens as a request may ask for; the reference's default is 8192.
constexpr int64_t most_tokens = 4096;

ModelSpec entry(const std::string& id, const std::string& task) {
  const bool distilled = id == klein;
  const int64_t steps = distilled ? 16 : 50;
  ModelSpec made;
  made.maturity = "beta";
  made.id = id;
  made.task = task;
  made.resource_hint = {24, 20};
  made.default_config = {{"num_inference_steps", steps},
                         {"guidance_scale", distilled ? 1.0 : 3.5},
                         {"max_sequence_length", most_tokens}};
  if (task == "text2image") made.default_config.update({{"width", 1024}, {"height", 1024}});
  Json fast = {{"scheduler", "FlowMatchEulerDiscreteScheduler"}};
  fast["num_inference_steps"] = distilled ? 8 : 20;
  made.presets = {{Preset::fast, fast},
                  {Preset::quality, {{"num_inference_steps", distilled ? 24 : 60}}}};
  made.supported_schedulers = blocks::schedulers_that_take_levels();
  made.summary = distilled ? "FLUX.3 Image klein, distilled to 16 steps"
                           : "FLUX.3 Image klein before it was distilled";
  made.example =
      fmt::format("omnirt generate --model {}{} --prompt \"a red cup on a table\" -o made.png", id,
                  task == "edit" ? " --image in.png" : "");
  made.hub_ids = {std::string("black-forest-labs/flux-3-image-klein") + (distilled ? "" : "-base")};
  return made;
}

}  // namespace

std::vector<ModelSpec> entries() {
  std::vector<ModelSpec> all;
  for (const char* id : {klein, klein_base}) {
    for (const char* task : {"text2image", "edit"}) all.push_back(entry(id, task));
  }
  return all;
}

std::string variant_of(const PipelineFolder& folder) {
  const ComponentFolder* transformer = folder.find("transformer");
  const Json flow_map =
      transformer ? transformer->config.value("flow_map", Json(false)) : Json(false);
  return flow_map == Json(true) ? klein : klein_base;
}

Json usual_scheduler() {
  constexpr double shift = 6.93;
  return {{"_class_name", "FlowMatchEulerDiscreteScheduler"}, {"shift", shift}};
}

}  // namespace omnirt::flux3
