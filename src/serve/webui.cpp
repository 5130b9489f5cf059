#include "serve/webui.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/nearest.hpp"
#include "serve/problem.hpp"
#include "serve/webui_image.hpp"
#include "serve/webui_names.hpp"
#include "serve/webui_prompt.hpp"

namespace omnirt::serve {
namespace {

bool is_of(const WebuiField& field, WebuiRoute route) {
  return route == WebuiRoute::text2image ? field.text2image : field.image2image;
}

bool has_type(const Json& value, std::string_view type) {
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  return true;
}

// Takes the fields of one body.
class WebuiFields {
 public:
  WebuiFields(Json fields, WebuiRoute route, const WebuiSetting& setting)
      : fields_(std::move(fields)), route_(route), setting_(setting) {
    if (!fields_.is_object())
      throw InvalidRequest({"body", shown(fields_), "an object is expected", "docs/server.md"});
  }

  WebuiRequest read();

 private:
  void refuse(const std::string& field, const Json& value, const std::string& message,
              const std::string& way_out) {
    findings_.push_back({field, shown(value), message, way_out});
  }
  // Null where it is not given.
  const Json& at(const char* name) const {
    static const Json none;
    auto it = fields_.find(name);
    return it == fields_.end() ? none : *it;
  }
  std::string text(const char* name) const {
    return at(name).is_string() ? at(name).get<std::string>() : "";
  }
  bool flag(const char* name, bool otherwise) const {
    const Json& value = at(name);
    if (value.is_boolean()) return value.get<bool>();
    return value.is_number_integer() ? value != 0 : otherwise;
  }
  int64_t count(const char* name, int64_t otherwise) const {
    return at(name).is_number_integer() ? at(name).get<int64_t>() : otherwise;
  }

  void check_fields();
  void check_field(const WebuiField& field, const Json& value);
  void check_scripts();
  void override_settings();
  void model(const Json& name);
  void clip_skip(const Json& value);
  void format(const Json& value);
  void previews(const Json& value);
  void sampler();
  void eta(const std::string& sampler);
  void prompts();
  void images_at_a_time(WebuiRequest& made);
  void second_pass();
  void same_in_second_pass(const char* name, const std::string& first, const char* usual);
  void start_image();
  void mask();
  void mask_blur();
  Json& config() { return request_["config"]; }

  Json fields_;
  WebuiRoute route_;
  const WebuiSetting& setting_;
  Json request_ = {{"inputs", Json::object()}, {"config", Json::object()}};
  std::vector<Finding> findings_;
};

WebuiRequest WebuiFields::read() {
  WebuiRequest made;
  check_fields();
  if (!findings_.empty()) throw InvalidRequest(findings_);
  request_["model"] = setting_.model;
  override_settings();
  check_scripts();
  sampler();
  images_at_a_time(made);
  if (route_ == WebuiRoute::text2image)
    second_pass();
  else
    start_image();
  prompts();
  made.send_images = flag("send_images", true);
  if (!findings_.empty()) throw InvalidRequest(findings_);
  made.served = read_served_request(text_of(request_), {}, setting_.models);
  made.served.all_take_effect = true;
  if (!flag("include_init_images", false)) {
    for (const char* name : {"init_images", "mask"}) {
      if (fields_.contains(name)) fields_[name] = nullptr;
    }
  }
  made.parameters = std::move(fields_);
  made.model = request_["model"].get<std::string>();
  return made;
}

// Null counts as not given.
void WebuiFields::check_fields() {
  for (const auto& [name, value] : fields_.items()) {
    const auto all = webui_fields();
    auto known = std::find_if(all.begin(), all.end(), [&, key = name](const WebuiField& field) {
      return field.name == key && is_of(field, route_);
    });
    if (known != all.end()) {
      if (!value.is_null()) check_field(*known, value);
      continue;
    }
    std::vector<std::string> names;
    for (const WebuiField& each : all) {
      if (is_of(each, route_)) names.emplace_back(each.name);
    }
    refuse(name.substr(0, 200), value, "unknown field", suggest(name.substr(0, 200), names));
  }
}

void WebuiFields::check_field(const WebuiField& field, const Json& value) {
  const std::string name(field.name);
  if (field.use == WebuiUse::ignored) return;
  if (field.use == WebuiUse::neutral) {
    const Json taken = parse_json(field.to, name);
    if (std::find(taken.begin(), taken.end(), value) == taken.end())
      refuse(name, value, "is not done by this server", "omit it");
  } else if (!has_type(value, field.type)) {
    refuse(name, value, fmt::format("{} is expected", field.type), "docs/server.md");
  } else if (field.use == WebuiUse::config) {
    config()[std::string(field.to)] = value;
  }
}

// One without arguments does nothing.
void WebuiFields::check_scripts() {
  const Json& scripts = at("alwayson_scripts");
  if (!scripts.is_object()) return;
  for (const auto& [name, script] : scripts.items()) {
    auto given = script.is_object() ? script.find("args") : script.end();
    const bool empty = script.is_object() && (given == script.end() || given->empty());
    if (!empty)
      refuse("alwayson_scripts." + name.substr(0, 200), script, "this server runs no scripts",
             "omit it");
  }
}

void WebuiFields::override_settings() {
  const Json& settings = at("override_settings");
  if (!settings.is_object()) return;
  for (const auto& [name, value] : settings.items()) {
    if (value.is_null()) continue;
    if (name == "sd_model_checkpoint")
      model(value);
    else if (name == "CLIP_stop_at_last_layers")
      clip_skip(value);
    else if (name == "samples_format")
      format(value);
    else if (name == "show_progress_every_n_steps")
      previews(value);
    else
      refuse("override_settings." + name.substr(0, 200), value, "this server has no such setting",
             "omit it; there are sd_model_checkpoint, CLIP_stop_at_last_layers, samples_format, "
             "show_progress_every_n_steps");
  }
}

void WebuiFields::model(const Json& name) {
  const std::string given = name.is_string() ? name.get<std::string>() : "";
  const std::string known = webui_model_of(given, setting_.models);
  if (known.empty())
    refuse("override_settings.sd_model_checkpoint", name, "is not served here",
           "GET /sdapi/v1/sd-models lists what is");
  else
    request_["model"] = known;
}

// webui counts the text encoder's last layer as 1.
void WebuiFields::clip_skip(const Json& value) {
  if (!value.is_number_integer() || value < 1 || value > 65)
    return refuse("override_settings.CLIP_stop_at_last_layers", value, "1 or more is expected",
                  "1 skips none");
  if (value > 1) config()["clip_skip"] = value.get<int64_t>() - 1;
}

void WebuiFields::format(const Json& value) {
  static const std::map<std::string, const char*> formats{
      {"png", "png"}, {"jpg", "jpeg"}, {"jpeg", "jpeg"}, {"webp", "webp"}};
  auto it = value.is_string() ? formats.find(value.get<std::string>()) : formats.end();
  if (it == formats.end())
    return refuse("override_settings.samples_format", value, "is none of the formats",
                  "give png, jpg or webp");
  config()["output_format"] = it->second;
}

void WebuiFields::previews(const Json& value) {
  if (!value.is_number_integer() || value < -1 || value > 1000)
    return refuse("override_settings.show_progress_every_n_steps", value, "is no number of steps",
                  "give 1 or more; 0 and -1: none");
  if (value > 0) config()["preview_every"] = value;
}

// webui's sampler without a name is Euler for all models; here it is the model's own.
void WebuiFields::sampler() {
  std::string name = text("sampler_name");
  if (name.empty()) name = text("sampler_index");
  const std::string scheduler = webui_scheduler(name, text("scheduler"));
  if (!scheduler.empty()) config()["scheduler"] = scheduler;
  eta(name);
}

void WebuiFields::eta(const std::string& sampler) {
  const Json& value = at("eta");
  const WebuiSampler* known = find_webui_sampler(sampler);
  if (value.is_null() || !known || known->eta == WebuiSampler::Eta::none) return;
  if (known->eta == WebuiSampler::Eta::free)
    config()["eta"] = value;
  else if (value != 1)
    refuse("eta", value, fmt::format("{} has 1 here", known->name), "omit it");
}

// <lora:...> become adapters whatever the model; weights of words are for models that have them.
void WebuiFields::prompts() {
  const std::string model = request_["model"].get<std::string>();
  const bool weighs = setting_.weighs_words(model);
  if (weighs) config()["prompt_syntax"] = "a1111";
  try {
    WebuiPrompt prompt = read_webui_prompt(text("prompt"), "prompt", weighs);
    request_["inputs"]["prompt"] = prompt.text;
    if (!prompt.adapters.empty()) request_["adapters"] = prompt.adapters;
    prompt = read_webui_prompt(text("negative_prompt"), "negative_prompt", weighs);
    if (!prompt.adapters.empty())
      refuse("negative_prompt", text("negative_prompt"), "adapters are named in the prompt only",
             "move <lora:...> to the prompt");
    if (!prompt.text.empty()) request_["inputs"]["negative_prompt"] = prompt.text;
  } catch (const InvalidRequest& error) {
    findings_.insert(findings_.end(), error.findings().begin(), error.findings().end());
  }
}

// The images of all batches are one request's: image i has seed + i in webui, too.
void WebuiFields::images_at_a_time(WebuiRequest& made) {
  constexpr int64_t most = 1024;
  made.batch_size = count("batch_size", 1);
  made.batches = count("n_iter", 1);
  for (const char* name : {"batch_size", "n_iter"}) {
    const int64_t value = count(name, 1);
    if (value < 1 || value > most)
      return refuse(name, value, "out of range", fmt::format("give 1 to {}", most));
  }
  if (made.batch_size * made.batches > 1)
    config()["num_images_per_prompt"] = made.batch_size * made.batches;
}

void WebuiFields::same_in_second_pass(const char* name, const std::string& first,
                                      const char* usual) {
  const std::string given = text(name);
  if (given.empty() || given == usual || given == first) return;
  refuse(name, given, "is another than the first pass's", "omit it: both passes have the same");
}

void WebuiFields::second_pass() {
  if (!flag("enable_hr", false)) return;
  const int64_t wide = count("hr_resize_x", 0), high = count("hr_resize_y", 0);
  if ((wide > 0) != (high > 0)) {
    refuse("hr_resize_x, hr_resize_y", fmt::format("{}, {}", wide, high),
           "one side alone is not done", "give both, or hr_scale");
  } else if (wide > 0) {
    config()["hires_width"] = wide;
    config()["hires_height"] = high;
  } else {
    config()["hires_scale"] = at("hr_scale").is_null() ? Json(2.0) : at("hr_scale");
  }
  const std::string upscaler = text("hr_upscaler");
  config()["hires_upscaler"] = upscaler.empty() ? "latent" : webui_upscaler(upscaler);
  if (count("hr_second_pass_steps", 0) != 0)
    config()["hires_steps"] = count("hr_second_pass_steps", 0);
  const Json& strength = at("denoising_strength");
  config()["hires_strength"] = strength.is_null() ? Json(0.75) : strength;
  const std::string sampler = text("sampler_name");
  same_in_second_pass("hr_sampler_name", sampler.empty() ? text("sampler_index") : sampler,
                      "Use same sampler");
  same_in_second_pass("hr_scheduler", text("scheduler"), "Use same scheduler");
  same_in_second_pass("hr_prompt", text("prompt"), "");
  same_in_second_pass("hr_negative_prompt", text("negative_prompt"), "");
  same_in_second_pass("hr_checkpoint_name", "", "Use same checkpoint");
}

void WebuiFields::start_image() {
  const Json& images = at("init_images");
  if (!images.is_array() || images.size() != 1 || !images[0].is_string())
    return refuse("init_images", images, "one image in base64 is expected", "send one");
  request_["inputs"]["image"] = webui_image_input(images[0].get<std::string>());
  config()["strength"] = at("denoising_strength").is_null() ? Json(0.75) : at("denoising_strength");
  static constexpr std::array fits{"stretch", "crop", "fill"};
  const int64_t mode = count("resize_mode", 0);
  if (mode < 0 || mode >= static_cast<int64_t>(fits.size()))
    refuse("resize_mode", mode, "is not done by this server",
           "give 0 (stretch), 1 (crop and resize) or 2 (resize and fill)");
  else if (mode > 0)
    config()["image_fit"] = fits[static_cast<size_t>(mode)];
  if (!text("mask").empty()) mask();
}

void WebuiFields::mask() {
  try {
    request_["inputs"]["mask"] =
        webui_mask_input(text("mask"), flag("inpainting_mask_invert", false));
  } catch (const InvalidRequest& error) {
    findings_.insert(findings_.end(), error.findings().begin(), error.findings().end());
  }
  const int64_t fill = count("inpainting_fill", 1);
  if (fill != 1)
    refuse("inpainting_fill", fill, "what is masked starts from the image here",
           "give 1 (original)");
  if (flag("inpaint_full_res", false))
    config()["padding_mask_crop"] = count("inpaint_full_res_padding", 0);
  mask_blur();
}

void WebuiFields::mask_blur() {
  const int64_t both = count("mask_blur", 0);
  const int64_t wide = count("mask_blur_x", both), high = count("mask_blur_y", both);
  if (wide != high)
    return refuse("mask_blur_x, mask_blur_y", fmt::format("{}, {}", wide, high), "are not the same",
                  "give mask_blur");
  if (wide != 0) config()["mask_blur"] = wide;
}

}  // namespace

WebuiRequest read_webui_request(std::string_view body, WebuiRoute route,
                                const WebuiSetting& setting) {
  return WebuiFields(parse_json(body, "request", body.size()), route, setting).read();
}

std::string webui_model_of(const std::string& given, const ServedModels& models) {
  std::string name = given.substr(0, given.find(" ["));
  if (models.models.contains(name)) return name;
  constexpr std::string_view extension = ".safetensors";
  if (name.ends_with(extension)) name.resize(name.size() - extension.size());
  return models.models.contains(name) ? name : "";
}

}  // namespace omnirt::serve
