#include "families/flux2/entries.hpp"

#include <fmt/format.h>

#include "blocks/shifted_timesteps.hpp"

namespace omnirt::flux2 {
namespace {

constexpr const char* klein_4b = "flux2.klein-4b";
constexpr const char* klein_9b = "flux2.klein-9b";
constexpr const char* klein_9b_kv = "flux2.klein-9b-kv";
constexpr const char* klein_base_4b = "flux2.klein-base-4b";
constexpr const char* klein_base_9b = "flux2.klein-base-9b";
constexpr const char* dev = "flux2.dev";
constexpr const char* embedded = "emoji";

struct Model {
  const char* id;
  const char* summary;
  std::vector<std::string> hub_ids;
  ResourceHint resources;
  bool distilled = false;
};

const std::vector<Model>& models() {
  static const std::vector<Model> all{{klein_4b,
                                       "FLUX.2 klein 4B, distilled to 4 steps",
                                       {"black-forest-labs/FLUX.2-klein-4B"},
                                       {16, 9},
                                       true},
                                      {klein_9b,
                                       "FLUX.2 klein 9B, distilled to 4 steps",
                                       {"black-forest-labs/FLUX.2-klein-9B"},
                                       {36, 19},
                                       true},
                                      {klein_9b_kv,
                                       "FLUX.2 klein 9B, which looks at reference images once",
                                       {"black-forest-labs/FLUX.2-klein-9b-kv"},
                                       {36, 19},
                                       true},
                                      {klein_base_4b,
                                       "FLUX.2 klein 4B before it was distilled",
                                       {"black-forest-labs/FLUX.2-klein-base-4B"},
                                       {16, 9}},
                                      {klein_base_9b,
                                       "FLUX.2 klein 9B before it was distilled",
                                       {"black-forest-labs/FLUX.2-klein-base-9B"},
                                       {36, 19}},
                                      {dev,
                                       "FLUX.2 dev, guided by a number that the network takes",
                                       {"black-forest-labs/FLUX.2-dev"},
                                       {80, 65}}};
  return all;
}

std::string example(const std::string& id, const std::string& task, const std::string& prompt) {
  std::string inputs = task == "text2image" ? ""
                       : task == "edit"     ? " --image in.png"
                                            : " --image in.png --mask mask.png";
  return fmt::format("omnirt generate --model {}{} --prompt \"{}\" -o made.png", id, inputs,
                     prompt);
}

// The model in this repository: its size is set, for nothing in its folder shows it, and its
// requests are shorter than the reference's default. A repainted image brings its own size.
ModelSpec embedded_entry(const std::string& task) {
  ModelSpec made;
  made.id = embedded;
  made.task = task;
  made.resource_hint = {0.3, 0.3};
  made.default_config = {
      {"num_inference_steps", 8}, {"guidance_scale", 1.0}, {"max_sequence_length", 32}};
  if (task == "text2image") made.default_config.update({{"width", 128}, {"height", 128}});
  made.presets = {{Preset::fast,
                   {{"num_inference_steps", 4}, {"scheduler", "FlowMatchEulerDiscreteScheduler"}}},
                  {Preset::quality, {{"num_inference_steps", 16}}}};
  made.trained_for_its_tasks_only = true;
  made.supported_schedulers = blocks::schedulers_that_take_levels();
  made.maturity = "stable";
  made.summary = "the embedded model: flat emoji on plain backgrounds, 128x128";
  made.example = example(embedded, task, "a red apple");
  return made;
}

// The reference's scheduler at each preset: levels are given to it, which others do not take.
std::map<Preset, Json> presets(bool distilled) {
  Json fast = {{"scheduler", "FlowMatchEulerDiscreteScheduler"}};
  fast["num_inference_steps"] = distilled ? 4 : 20;
  return {{Preset::fast, fast}, {Preset::quality, {{"num_inference_steps", distilled ? 8 : 60}}}};
}

ModelSpec entry(const Model& model, const std::string& task) {
  ModelSpec made;
  made.maturity = "beta";
  made.id = model.id;
  made.task = task;
  made.resource_hint = model.resources;
  made.default_config = {{"num_inference_steps", model.distilled ? 4 : 50},
                         {"guidance_scale", model.distilled ? 1.0 : 4.0}};
  if (task == "inpaint" && !model.distilled) made.default_config["guidance_scale"] = 8.0;
  made.presets = presets(model.distilled);
  made.supported_schedulers = blocks::schedulers_that_take_levels();
  made.summary = model.summary;
  made.example = example(model.id, task, "a red cup on a table");
  made.hub_ids = model.hub_ids;
  made.trained_for_its_tasks_only = model.id == std::string_view(klein_9b_kv);
  return made;
}

// The reference inpaints with klein's own pipelines alone.
bool inpaints(const Model& model) {
  const std::string_view id = model.id;
  return id != dev && id != klein_9b_kv;
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
  for (const char* task : {"text2image", "inpaint"}) all.push_back(embedded_entry(task));
  for (const Model& model : models()) {
    for (const char* task : {"text2image", "edit", "inpaint"}) {
      if (task == std::string_view("inpaint") && !inpaints(model)) continue;
      all.push_back(entry(model, task));
      std::string name = model.id;
      name[name.find('.')] = '-';
      alias(name, model.id, task);
      if (model.id == std::string(klein_4b)) alias("flux2.klein", klein_4b, task);
    }
  }
  return all;
}

std::string variant_of(const PipelineFolder& folder) {
  if (folder.class_name == "Flux2Pipeline") return dev;
  if (folder.class_name == "Flux2KleinKVPipeline") return klein_9b_kv;
  const ComponentFolder* transformer = folder.find("transformer");
  Json width = transformer ? transformer->config.value("joint_attention_dim", Json()) : Json();
  constexpr int64_t width_of_embedded = 288, width_of_9b = 12288;
  if (width == width_of_embedded) return embedded;
  bool large = width.is_number_integer() && width.get<int64_t>() >= width_of_9b;
  bool distilled = folder.index.value("is_distilled", Json(false)) == Json(true);
  if (distilled) return large ? klein_9b : klein_4b;
  return large ? klein_base_9b : klein_base_4b;
}

}  // namespace omnirt::flux2
