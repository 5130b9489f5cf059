#include "blocks/parameters_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace omnirt::blocks {
namespace {

struct SamplerName {
  std::string_view class_name;
  std::string_view name;
};

// A1111's names of what diffusers' classes compute, by the table of diffusers' documentation
// (api/schedulers/overview); others keep their class's name.
constexpr std::array samplers{SamplerName{"DDIMScheduler", "DDIM"},
                              SamplerName{"DEISMultistepScheduler", "DEIS"},
                              SamplerName{"DPMSolverMultistepScheduler", "DPM++ 2M"},
                              SamplerName{"DPMSolverSDEScheduler", "DPM++ SDE"},
                              SamplerName{"DPMSolverSinglestepScheduler", "DPM++ 2S a"},
                              SamplerName{"EulerAncestralDiscreteScheduler", "Euler a"},
                              SamplerName{"EulerDiscreteScheduler", "Euler"},
                              SamplerName{"FlowMatchEulerDiscreteScheduler", "Euler"},
                              SamplerName{"HeunDiscreteScheduler", "Heun"},
                              SamplerName{"KDPM2AncestralDiscreteScheduler", "DPM2 a"},
                              SamplerName{"KDPM2DiscreteScheduler", "DPM2"},
                              SamplerName{"LCMScheduler", "LCM"},
                              SamplerName{"LMSDiscreteScheduler", "LMS"},
                              SamplerName{"PNDMScheduler", "PLMS"},
                              SamplerName{"UniPCMultistepScheduler", "UniPC"}};

// Which key of scheduler_config selects which of A1111's schedule types.
constexpr std::array<std::pair<const char*, const char*>, 3> schedule_types{
    {{"use_karras_sigmas", "Karras"},
     {"use_exponential_sigmas", "Exponential"},
     {"use_beta_sigmas", "Beta"}}};

std::string text_of(const Json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// A number as Python prints it: 7 stays 7 here, 7.5 stays 7.5.
std::string number_of(const Json& value) {
  return value.is_number_float() ? fmt::format("{}", value.get<double>()) : value.dump();
}

std::string sampler_of(const Json& config, const Json& settings) {
  const std::string class_name = text_of(config, "scheduler");
  auto known = std::ranges::find(samplers, class_name, &SamplerName::class_name);
  std::string name(known == samplers.end() ? std::string_view(class_name) : known->name);
  if (text_of(settings, "algorithm_type").starts_with("sde-")) name += " SDE";
  return name;
}

std::string schedule_type_of(const Json& settings) {
  for (const auto& [key, name] : schedule_types) {
    if (settings.value(key, Json()) == true) return name;
  }
  return text_of(settings, "timestep_spacing") == "trailing" ? "SGM Uniform" : "";
}

// Values that hold the list's own marks are quoted as JSON, as A1111 does.
std::string quoted(const std::string& value) {
  const bool plain = value.find_first_of(",:\n\"") == std::string::npos;
  return plain ? value : Json(value).dump();
}

std::string last_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

void add_number(Pairs& pairs, const char* name, const Json& config, const char* key) {
  auto found = config.find(key);
  if (found != config.end() && found->is_number()) pairs.emplace_back(name, number_of(*found));
}

// A second pass, as A1111 describes it.
void add_hires(Pairs& pairs, const Json& config, const Json& components) {
  if (!config.contains("hires_width") || !config.contains("hires_height")) return;
  add_number(pairs, "Denoising strength", config, "hires_strength");
  if (config.contains("hires_scale"))
    add_number(pairs, "Hires upscale", config, "hires_scale");
  else
    pairs.emplace_back("Hires resize",
                       number_of(config["hires_width"]) + "x" + number_of(config["hires_height"]));
  add_number(pairs, "Hires steps", config, "hires_steps");
  std::string network =
      std::filesystem::path(text_of(components, "hires_upscaler")).stem().string();
  pairs.emplace_back("Hires upscaler",
                     network.empty() ? text_of(config, "hires_upscaler") : network);
}

Pairs settings_of(const Json& record) {
  const Json config = record.value("config", Json::object());
  Json settings = config.value("scheduler_config", Json::object());
  if (!settings.is_object()) settings = Json::object();
  Pairs pairs;
  add_number(pairs, "Steps", config, "num_inference_steps");
  if (config.contains("scheduler")) pairs.emplace_back("Sampler", sampler_of(config, settings));
  if (std::string type = schedule_type_of(settings); !type.empty())
    pairs.emplace_back("Schedule type", type);
  add_number(pairs, "CFG scale", config, "guidance_scale");
  add_number(pairs, "Seed", config, "seed");
  if (config.contains("width") && config.contains("height"))
    pairs.emplace_back("Size", number_of(config["width"]) + "x" + number_of(config["height"]));
  pairs.emplace_back("Model", last_name(text_of(record, "model")));
  if (record.value("inputs", Json::object()).contains("image"))
    add_number(pairs, "Denoising strength", config, "strength");
  // A1111 counts the text encoder's last layer as 1, diffusers as none skipped.
  if (Json skipped = config.value("clip_skip", Json()); skipped.is_number_integer() && skipped > 0)
    pairs.emplace_back("Clip skip", std::to_string(skipped.get<int64_t>() + 1));
  const Json components = record.value("components", Json::object());
  add_hires(pairs, config, components);
  if (std::string upscaler = text_of(components, "upscaler"); !upscaler.empty()) {
    add_number(pairs, "Postprocess upscale by", config, "upscale");
    pairs.emplace_back("Postprocess upscaler", std::filesystem::path(upscaler).stem().string());
  }
  pairs.emplace_back("Version", "OmniRT");
  return pairs;
}

std::string loras_of(const Json& record) {
  std::string words;
  for (const Json& adapter : record.value("adapters", Json::array())) {
    const Json scale = adapter.value("scale", Json(1));
    if (!scale.is_number()) continue;
    const std::string stem = std::filesystem::path(text_of(adapter, "path")).stem().string();
    words += fmt::format(" <lora:{}:{}>", stem, number_of(scale));
  }
  return words;
}

}  // namespace

std::string parameters_text(const Json& record) {
  const Json inputs = record.value("inputs", Json::object());
  std::string text = text_of(inputs, "prompt") + loras_of(record) + "\n";
  if (std::string negative = text_of(inputs, "negative_prompt"); !negative.empty())
    text += "Negative prompt: " + negative + "\n";
  const char* between = "";
  for (const auto& [name, value] : settings_of(record)) {
    text += fmt::format("{}{}: {}", between, name, quoted(value));
    between = ", ";
  }
  std::ranges::replace_if(
      text, [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; }, ' ');
  return text;
}

}  // namespace omnirt::blocks
