#include "families/flux/entries.hpp"

#include <fmt/format.h>

#include "blocks/shifted_timesteps.hpp"

namespace omnirt::flux {
namespace {

constexpr const char* schnell = "flux1.schnell";
constexpr const char* dev = "flux1.dev";
constexpr const char* fill = "flux1.fill-dev";
constexpr const char* depth = "flux1.depth-dev";
constexpr const char* canny = "flux1.canny-dev";

struct FluxModel {
  const char* id;
  const char* summary;
  const char* hub_id;
  std::vector<std::string> tasks;
  double guidance_scale = 3.5;
  int64_t in_channels = 64;  // others mean that something is joined to the latents
};

const std::vector<FluxModel>& flux_models() {
  const std::vector<std::string> all{"text2image", "image2image", "inpaint"};
  static const std::vector<FluxModel> models{
      {schnell, "FLUX.1 schnell, distilled to 4 steps", "black-forest-labs/FLUX.1-schnell", all},
      {dev, "FLUX.1 dev, which takes the guidance scale as an input",
       "black-forest-labs/FLUX.1-dev", all},
      {fill,
       "FLUX.1 Fill, which repaints what the mask covers",
       "black-forest-labs/FLUX.1-Fill-dev",
       {"inpaint"},
       30,
       384},
      {depth, "FLUX.1 Depth, which follows a depth map", "black-forest-labs/FLUX.1-Depth-dev", all,
       3.5, 128},
      {canny, "FLUX.1 Canny, which follows edges", "black-forest-labs/FLUX.1-Canny-dev", all, 3.5,
       128}};
  return models;
}

std::string flux_example(const FluxModel& model, const std::string& task) {
  const std::string inputs = task == "text2image"    ? ""
                             : task == "image2image" ? " --image in.png"
                                                     : " --image in.png --mask mask.png";
  const char* control = model.in_channels == 128 ? " --input control_image=edges.png" : "";
  return fmt::format("omnirt generate --model {}{}{} --prompt \"a red cup on a table\" -o made.png",
                     model.id, inputs, control);
}

Json fast_preset(int64_t steps) {
  Json fast = {{"scheduler", "FlowMatchEulerDiscreteScheduler"}};
  fast["num_inference_steps"] = steps;
  return fast;
}

// What determines the workflow of a model that joins something to its latents, without its folder.
UsualFolder usual_folder(const FluxModel& model) {
  Json four = Json::array({32, 32, 32, 32});
  auto types = [](const char* name) { return Json::array({name, name, name, name}); };
  return {.components = {{"transformer",
                          {{"_class_name", "FluxTransformer2DModel"},
                           {"in_channels", model.in_channels},
                           {"out_channels", 64},
                           {"num_layers", 1},
                           {"num_single_layers", 1},
                           {"guidance_embeds", true}}},
                         {"vae",
                          {{"_class_name", "AutoencoderKL"},
                           {"latent_channels", 16},
                           {"block_out_channels", four},
                           {"down_block_types", types("DownEncoderBlock2D")},
                           {"up_block_types", types("UpDecoderBlock2D")}}}}};
}

ModelSpec flux_entry(const FluxModel& model, const std::string& task) {
  ModelSpec made;
  made.maturity = "beta";
  made.id = model.id;
  made.task = task;
  made.resource_hint = {34, 25};
  const bool distilled = made.id == schnell, joins = model.in_channels != 64,
             fills = made.id == fill;
  const int64_t steps = distilled ? 4 : fills ? 50 : 28;
  made.default_config = {{"num_inference_steps", steps}, {"true_cfg_scale", 1.0}};
  // schnell takes no scale; its model card has the length.
  if (distilled)
    made.default_config["max_sequence_length"] = 256;
  else
    made.default_config["guidance_scale"] =
        task == "text2image" || fills ? model.guidance_scale : 7.0;
  if (task != "text2image") made.default_config["strength"] = fills ? 1.0 : 0.6;
  made.presets = {{Preset::fast, fast_preset(distilled ? 4 : 20)},
                  {Preset::quality, {{"num_inference_steps", distilled ? 8 : 50}}}};
  made.trained_for_its_tasks_only = joins;
  made.supported_schedulers = blocks::schedulers_that_take_levels();
  made.summary = model.summary;
  made.example = flux_example(model, task);
  made.hub_ids = {model.hub_id};
  if (joins) made.usual = usual_folder(model);
  return made;
}

}  // namespace

// FLUX.2's blocks have the same names; modulations of their own these alone have.
std::vector<AdapterFamily> adapter_families() {
  return {{.name = "FLUX.1",
           .ids = {schnell, dev, fill, depth, canny, "flux1.kontext-dev"},
           .marks = {{"_img_mod_lin"},
                     {"_txt_mod_lin"},
                     {"_norm1_context_linear"},
                     {"denoiser:double_blocks_"},
                     {"denoiser:single_blocks_"},
                     {"denoiser:single_transformer_blocks_"},
                     {"_attn_add_q_proj"}},
           .metadata = {"flux1", "Flux.1", "flux"},
           .embedding_widths = {}}};
}

std::vector<ModelSpec> entries() {
  std::vector<ModelSpec> all;
  auto alias = [&](const std::string& name, const std::string& id, const std::string& task) {
    ModelSpec other;
    other.id = name;
    other.task = task;
    other.alias_of = id;
    all.push_back(other);
  };
  for (const FluxModel& model : flux_models()) {
    const std::string id = model.id, variant = id.substr(id.find('.') + 1);
    for (const std::string& task : model.tasks) {
      all.push_back(flux_entry(model, task));
      for (const char* name : {"flux1-", "flux.1-", "flux-"}) alias(name + variant, id, task);
    }
  }
  return all;
}

std::string variant_of(const PipelineFolder& folder) {
  if (folder.class_name == "FluxFillPipeline") return fill;
  if (folder.class_name.starts_with("FluxControl")) return depth;
  const ComponentFolder* transformer = folder.find("transformer");
  bool guided =
      transformer && transformer->config.value("guidance_embeds", Json(false)) == Json(true);
  return guided ? dev : schnell;
}

}  // namespace omnirt::flux
