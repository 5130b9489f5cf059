#include "families/sana/entries.hpp"

#include <fmt/format.h>

#include "pipeline/keys.hpp"

namespace omnirt::sana {
namespace {

constexpr const char* id = "sana";
constexpr const char* sprint = "sana-sprint";
constexpr const char* scm = "SCMScheduler";

// Those of flow matching, and multistep solvers that take its noise levels.
std::vector<std::string> schedulers_of_flow() {
  return {"DPMSolverMultistepScheduler",     "DPMSolverSinglestepScheduler",
          "UniPCMultistepScheduler",         "DEISMultistepScheduler",
          "FlowMatchEulerDiscreteScheduler", "FlowMatchHeunDiscreteScheduler"};
}

ModelSpec entry() {
  ModelSpec made;
  made.maturity = "beta";
  made.id = id;
  made.task = "text2image";
  made.resource_hint = {16, 14};
  made.default_config = {
      {"num_inference_steps", 20}, {"guidance_scale", 4.5}, {"max_sequence_length", 300}};
  const Json scheduler = {{"scheduler", "DPMSolverMultistepScheduler"}};
  made.presets = {{Preset::fast, scheduler}, {Preset::quality, scheduler}};
  made.presets[Preset::fast]["num_inference_steps"] = 14;
  made.presets[Preset::quality]["num_inference_steps"] = 30;
  made.trained_for_its_tasks_only = true;
  made.supported_schedulers = schedulers_of_flow();
  made.summary = "Sana and Sana 1.5, 0.6B to 4.8B, 512 to 4096 pixels, under Gemma 2";
  made.example = "omnirt generate --model sana --prompt \"a red cup on a table\" -o made.png";
  made.hub_ids = {"Efficient-Large-Model/Sana_1600M_1024px_BF16_diffusers",
                  "Efficient-Large-Model/Sana_1600M_1024px_diffusers",
                  "Efficient-Large-Model/SANA1.5_1.6B_1024px_diffusers",
                  "Efficient-Large-Model/Sana_600M_1024px_diffusers"};
  return made;
}

ModelSpec sprint_entry(const std::string& task) {
  const bool from_image = task == "image2image";
  ModelSpec made = entry();
  made.id = sprint;
  made.task = task;
  made.default_config["num_inference_steps"] = 2;
  if (from_image) made.default_config["strength"] = 0.6;
  const Json scheduler = {{"scheduler", scm}};
  made.presets = {{Preset::fast, scheduler}, {Preset::quality, scheduler}};
  made.presets[Preset::fast]["num_inference_steps"] = 1;
  made.presets[Preset::quality]["num_inference_steps"] = 4;
  made.supported_schedulers = {scm};
  made.summary =
      "Sana-Sprint, distilled to 1 to 4 steps, which takes the guidance scale as an input";
  made.example = fmt::format(
      "omnirt generate --model sana-sprint{} --prompt \"a red cup on a table\" -o made.png",
      from_image ? " --image in.png" : "");
  made.hub_ids = {"Efficient-Large-Model/Sana_Sprint_1.6B_1024px_diffusers",
                  "Efficient-Large-Model/Sana_Sprint_0.6B_1024px_diffusers"};
  return made;
}

}  // namespace

std::vector<ModelSpec> entries() {
  ModelSpec alias;
  alias.id = "sana-1.5";
  alias.task = "text2image";
  alias.alias_of = id;
  return {entry(), sprint_entry("text2image"), sprint_entry("image2image"), alias};
}

std::string variant_of(const PipelineFolder& folder) {
  return folder.class_name.starts_with("SanaSprint") ? sprint : id;
}

// The latents here are the reference's divided by sigma_data, which its pipeline multiplies and
// divides by around the scheduler.
void adopt_scheduler(const SchedulerAdoption& adoption, Json& config) {
  if (adoption.info.class_name != scm) return;
  config["prediction_type"] = "flow_prediction";
  config["sigma_data"] = 1.0;
}

std::vector<AdapterFamily> adapter_families() {
  constexpr int64_t width = 2240;
  return {{.name = "Sana",
           .ids = {id, sprint},
           .marks = {{"_attn1_to_q", width}, {"_attn2_to_q", width}, {"_ff_conv_inverted"}},
           .metadata = {"sana", "Sana", "Efficient-Large-Model/Sana"},
           .embedding_widths = {}}};
}

}  // namespace omnirt::sana
