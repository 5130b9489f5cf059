#include "families/sd/entries.hpp"

#include <fmt/format.h>

namespace omnirt::families {
namespace {

constexpr const char* scale_of_controlnet = "controlnet_conditioning_scale";

struct Stock {
  std::string id;
  std::string summary;
  ResourceHint hint;
  Json config;
  std::string maturity;
  std::vector<std::string> hub_ids;
  std::map<Preset, Json> presets{};
};

std::string example_of(const std::string& id, const std::string& task) {
  if (task == "text2image")
    return fmt::format("omnirt generate --model {} --prompt \"a red apple\" -o apple.png", id);
  std::string inputs =
      task == "inpaint" ? "--image in.png --mask mask.png" : "--image in.png --strength 0.6";
  return fmt::format("omnirt generate --model {} --prompt \"a green apple\" {} -o apple.png", id,
                     inputs);
}

ModelSpec entry_of(const Stock& stock, const std::string& task) {
  ModelSpec entry;
  entry.id = stock.id;
  entry.task = task;
  entry.resource_hint = stock.hint;
  entry.default_config = stock.config;
  entry.presets = stock.presets;
  entry.default_config_with["controlnet"] = {{scale_of_controlnet, 1.0}};
  if (task == "image2image") {
    entry.default_config["strength"] = 0.8;
    entry.default_config_with["controlnet"] = {{scale_of_controlnet, 0.8}};
  } else if (task == "inpaint") {
    entry.default_config["strength"] = 1.0;
    entry.default_config_with["controlnet"] = {{scale_of_controlnet, 0.5}};
  }
  entry.supported_schedulers = schedulers_for(SchedulerFor::diffusion);
  entry.adapter_kinds = adapters::all_kinds();
  entry.maturity = stock.maturity;
  entry.summary = stock.summary;
  entry.example = example_of(stock.id, task);
  entry.hub_ids = stock.hub_ids;
  return entry;
}

}  // namespace

std::vector<ModelSpec> sd_entries() {
  const Json stock_config = {{"num_inference_steps", 50}, {"guidance_scale", 7.5}};
  const std::vector<Stock> stocks{
      {"emoji-sd",
       "flat emoji on plain backgrounds by a small Stable Diffusion, 128x128",
       {0.3, 0.3},
       {{"num_inference_steps", 20}, {"guidance_scale", 5.0}},
       "stable",
       {},
       // Around its own 20 steps.
       {{Preset::fast, {{"num_inference_steps", 8}}},
        {Preset::quality, {{"num_inference_steps", 40}}}}},
      {"sd15",
       "Stable Diffusion 1.x (512x512)",
       {6, 3.5},
       stock_config,
       "beta",
       {"stable-diffusion-v1-5/stable-diffusion-v1-5", "runwayml/stable-diffusion-v1-5",
        "CompVis/stable-diffusion-v1-4"}},
      {"sd21",
       "Stable Diffusion 2.x (512x512 and 768x768)",
       {7, 5},
       stock_config,
       "beta",
       {"stabilityai/stable-diffusion-2-1", "stabilityai/stable-diffusion-2-1-base"}},
  };
  std::vector<ModelSpec> entries;
  for (const Stock& stock : stocks) {
    for (const char* task : {"text2image", "image2image", "inpaint"})
      entries.push_back(entry_of(stock, task));
  }
  for (auto [alias, id] : {std::pair{"stable-diffusion-v1-5", "sd15"},
                           {"sd1.5", "sd15"},
                           {"sd2.1", "sd21"},
                           {"stable-diffusion-2-1", "sd21"}}) {
    for (const char* task : {"text2image", "image2image", "inpaint"}) {
      ModelSpec entry;
      entry.id = alias;
      entry.task = task;
      entry.alias_of = id;
      entries.push_back(entry);
    }
  }
  return entries;
}

}  // namespace omnirt::families
