#include "families/sd3/entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "blocks/shifted_timesteps.hpp"
#include "guiders/skipped_guidance.hpp"

namespace omnirt::sd3 {
namespace {

constexpr const char* medium_3 = "sd3-medium";
constexpr const char* medium = "sd3.5-medium";
constexpr const char* large = "sd3.5-large";
constexpr const char* turbo = "sd3.5-large-turbo";

struct SD3Model {
  const char* id;
  const char* summary;
  const char* hub_id;
  ResourceHint hint;
  std::vector<std::string> aliases;
};

const std::vector<SD3Model>& sd3_models() {
  static const std::vector<SD3Model> models{
      {medium_3,
       "Stable Diffusion 3 medium",
       "stabilityai/stable-diffusion-3-medium-diffusers",
       {18, 12},
       {"sd3", "stable-diffusion-3-medium", "stable-diffusion-3"}},
      {medium,
       "Stable Diffusion 3.5 medium",
       "stabilityai/stable-diffusion-3.5-medium",
       {18, 12},
       {"sd35-medium", "stable-diffusion-3.5-medium"}},
      {large,
       "Stable Diffusion 3.5 large",
       "stabilityai/stable-diffusion-3.5-large",
       {28, 20},
       {"sd3.5", "sd35", "sd35-large", "stable-diffusion-3.5-large"}},
      {turbo,
       "Stable Diffusion 3.5 large turbo, distilled to 4 steps without guidance",
       "stabilityai/stable-diffusion-3.5-large-turbo",
       {28, 20},
       {"sd3.5-turbo", "sd35-large-turbo", "stable-diffusion-3.5-large-turbo"}}};
  return models;
}

struct SD3Task {
  const char* name;
  const char* inputs;  // of the example
  int64_t steps;       // the reference's
};
constexpr std::array sd3_tasks{SD3Task{"text2image", "", 28},
                               SD3Task{"image2image", " --image in.png", 50},
                               SD3Task{"inpaint", " --image in.png --mask mask.png", 50}};

ModelSpec sd3_entry(const SD3Model& model, const SD3Task& task) {
  const bool distilled = std::string(model.id) == turbo;
  ModelSpec made;
  made.maturity = "beta";
  made.id = model.id;
  made.task = task.name;
  made.resource_hint = model.hint;
  made.default_config = {{"num_inference_steps", distilled ? 4 : task.steps},
                         {"guidance_scale", distilled ? 0.0 : 7.0},
                         {"max_sequence_length", 256}};
  if (std::string(task.name) != "text2image") made.default_config["strength"] = 0.6;
  if (std::string(task.name) == "inpaint" && !distilled)
    made.default_config_with["controlnet"] = {{"num_inference_steps", 28}};
  made.presets = {{Preset::fast, {{"num_inference_steps", distilled ? 4 : 20}}},
                  {Preset::quality, {{"num_inference_steps", distilled ? 8 : 50}}}};
  for (auto& [preset, values] : made.presets)
    values["scheduler"] = "FlowMatchEulerDiscreteScheduler";
  made.supported_schedulers = blocks::compared_flow_schedulers();
  made.summary = model.summary;
  made.example =
      fmt::format("omnirt generate --model {}{} --prompt \"a red cup on a table\" -o made.png",
                  model.id, task.inputs);
  made.hub_ids = {model.hub_id};
  // T5 is left out of some folders, which have another workflow then.
  made.usual = {.components = {{"text_encoder_3", {{"_class_name", "T5EncoderModel"}}}}};
  return made;
}

bool is_called_turbo(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.find("turbo") != std::string::npos;
}

}  // namespace

std::vector<ModelSpec> entries() {
  std::vector<ModelSpec> all;
  for (const SD3Model& model : sd3_models()) {
    for (const SD3Task& task : sd3_tasks) {
      all.push_back(sd3_entry(model, task));
      for (const std::string& name : model.aliases) {
        ModelSpec other;
        other.id = name;
        other.task = task.name;
        other.alias_of = model.id;
        all.push_back(other);
      }
    }
  }
  return all;
}

std::string variant_of(const PipelineFolder& folder) {
  const ComponentFolder* transformer = folder.find("transformer");
  Json config = transformer ? transformer->config : Json::object();
  if (config.value("qk_norm", Json()).is_null()) return medium_3;
  Json dual = config.value("dual_attention_layers", Json());
  if (dual.is_array() && !dual.empty()) return medium;
  // In the local cache the model's folder stands two above its snapshot.
  const std::filesystem::path above = folder.path.parent_path().parent_path();
  return is_called_turbo(folder.path) || is_called_turbo(above) ? turbo : large;
}

// FLUX.1's blocks have some of the names; the widths are these models' own.
std::vector<AdapterFamily> adapter_families() {
  AdapterFamily family{.name = "Stable Diffusion 3",
                       .ids = {medium_3, medium, large, turbo},
                       .marks = {{"denoiser:joint_blocks_"}},
                       .metadata = {"sd3", "stable-diffusion-3", "SD 3", "Stable Diffusion 3"},
                       .embedding_widths = {}};
  for (int64_t width : {1536, 2432}) {
    for (const char* layer : {"_attn_add_q_proj", "_attn_add_k_proj", "_attn_add_v_proj",
                              "transformer_blocks_0_attn_to_q", "transformer_blocks_0_attn_to_k"})
      family.marks.push_back({layer, width});
  }
  return {family};
}

std::vector<const KeyInfo*> guider_keys() {
  using namespace omnirt::guider_keys;
  return {&keys::guidance_scale, &skip_guidance_layers, &skip_layer_guidance_scale,
          &skip_layer_guidance_start, &skip_layer_guidance_stop};
}

PreviewMeans latent_colours() {
  return {.colours = {{-0.0922, -0.0175, 0.0749},
                      {0.0311, 0.0633, 0.0954},
                      {0.1994, 0.0927, 0.0458},
                      {0.0856, 0.0339, 0.0902},
                      {0.0587, 0.0272, -0.0496},
                      {-0.0006, 0.1104, 0.0309},
                      {0.0978, 0.0306, 0.0427},
                      {-0.0042, 0.1038, 0.1358},
                      {-0.0194, 0.0020, 0.0669},
                      {-0.0488, 0.0130, -0.0268},
                      {0.0922, 0.0988, 0.0951},
                      {-0.0278, 0.0524, -0.0542},
                      {0.0332, 0.0456, 0.0895},
                      {-0.0069, -0.0030, -0.0810},
                      {-0.0596, -0.0465, -0.0293},
                      {-0.1448, -0.1463, -0.1189}},
          .bias = {0.2394, 0.2135, 0.1925},
          .tiny = "madebyollin/taesd3"};
}

}  // namespace omnirt::sd3
