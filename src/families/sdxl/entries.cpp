#include "families/sdxl/entries.hpp"

#include <fmt/format.h>

namespace omnirt::families {
namespace {

struct Task {
  std::string name;
  Json config;
  std::string inputs;         // of the example, in addition to the prompt
  Json with_controlnet = {};  // what a ControlNet changes
};

constexpr const char* scale_of_controlnet = "controlnet_conditioning_scale";

struct Stock {
  std::string id;
  std::string summary;
  ResourceHint hint;
  std::vector<Task> tasks;
  std::vector<std::string> hub_ids;
  std::vector<std::string> aliases;
  UsualFolder usual;
};

// Values that the reference's pipelines have where a request says nothing.
Task text2image() {
  return {"text2image",
          {{"num_inference_steps", 50}, {"guidance_scale", 5.0}},
          "",
          {{scale_of_controlnet, 1.0}}};
}

Task image2image() {
  return {"image2image",
          {{"num_inference_steps", 50}, {"guidance_scale", 5.0}, {"strength", 0.3}},
          " --image in.png --strength 0.3",
          {{"strength", 0.8}, {scale_of_controlnet, 0.8}}};
}

Task inpaint() {
  return {"inpaint",
          {{"num_inference_steps", 50}, {"guidance_scale", 7.5}, {"strength", 0.9999}},
          " --image in.png --mask mask.png",
          {{"guidance_scale", 5.0}, {scale_of_controlnet, 1.0}}};
}

// Adversarially distilled: one step or a few, without guidance.
std::vector<Task> turbo_tasks() {
  Json one = {{"num_inference_steps", 1}, {"guidance_scale", 0.0}};
  Json two = {{"num_inference_steps", 2}, {"guidance_scale", 0.0}, {"strength", 0.5}};
  return {{"text2image", one, ""},
          {"image2image", two, " --image in.png --strength 0.5", {{scale_of_controlnet, 0.8}}},
          {"inpaint", two, " --image in.png --mask mask.png --strength 0.5"}};
}

Json unet_of(int64_t channels) {
  return {{"_class_name", "UNet2DConditionModel"}, {"in_channels", channels}};
}

UsualFolder two_encoders(int64_t unet_channels) {
  return {.components = {{"text_encoder", Json::object()},
                         {"text_encoder_2", Json::object()},
                         {"unet", unet_of(unet_channels)},
                         {"vae", {{"_class_name", "AutoencoderKL"}}}}};
}

UsualFolder refiner() {
  return {.components = {{"text_encoder_2", Json::object()}},
          .index = {{"requires_aesthetics_score", true}}};
}

std::vector<Stock> stocks() {
  return {
      {"sdxl",
       "Stable Diffusion XL 1.0 (1024x1024)",
       {12, 12},
       {text2image(), image2image(), inpaint()},
       {"stabilityai/stable-diffusion-xl-base-1.0"},
       {"sdxl-base", "stable-diffusion-xl-base-1.0", "stable-diffusion-xl"},
       two_encoders(4)},
      {"sdxl-refiner",
       "the refiner of Stable Diffusion XL 1.0: the last steps of an image, or another look at "
       "one",
       {10, 10},
       {image2image(), inpaint()},
       {"stabilityai/stable-diffusion-xl-refiner-1.0"},
       {"stable-diffusion-xl-refiner-1.0"},
       refiner()},
      {"sdxl-turbo",
       "Stable Diffusion XL distilled to one step (512x512)",
       {12, 12},
       turbo_tasks(),
       {"stabilityai/sdxl-turbo"},
       {"stable-diffusion-xl-turbo"},
       two_encoders(4)},
      {"sdxl-inpainting",
       "Stable Diffusion XL with mask channels (1024x1024)",
       {12, 12},
       {inpaint()},
       {"diffusers/stable-diffusion-xl-1.0-inpainting-0.1"},
       {"stable-diffusion-xl-1.0-inpainting-0.1"},
       two_encoders(9)},
  };
}

ModelSpec entry_of(const Stock& stock, const Task& task) {
  ModelSpec entry;
  entry.maturity = "beta";
  entry.id = stock.id;
  entry.task = task.name;
  entry.resource_hint = stock.hint;
  entry.default_config = task.config;
  if (!task.with_controlnet.is_null())
    entry.default_config_with["controlnet"] = task.with_controlnet;
  entry.supported_schedulers = schedulers_for(SchedulerFor::diffusion);
  entry.adapter_kinds = adapters::all_kinds();
  entry.summary = stock.summary;
  entry.example = fmt::format("omnirt generate --model {} --prompt \"a red apple\"{} -o apple.png",
                              stock.id, task.inputs);
  entry.hub_ids = stock.hub_ids;
  entry.usual = stock.usual;
  return entry;
}

}  // namespace

std::vector<ModelSpec> sdxl_entries() {
  std::vector<ModelSpec> entries, aliases;
  for (const Stock& stock : stocks()) {
    for (const Task& task : stock.tasks) {
      entries.push_back(entry_of(stock, task));
      for (const std::string& name : stock.aliases) {
        ModelSpec alias;
        alias.id = name;
        alias.task = task.name;
        alias.alias_of = stock.id;
        aliases.push_back(alias);
      }
    }
  }
  entries.insert(entries.end(), aliases.begin(), aliases.end());
  return entries;
}

}  // namespace omnirt::families
