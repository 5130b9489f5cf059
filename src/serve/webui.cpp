#include "serve/webui.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/nearest.hpp"
#include "serve/problem.hpp"
#include "serve/webui_reader.hpp"
#include "serve/webui_settings.hpp"
#include "serve/webui_values.hpp"

namespace omnirt::serve {
namespace {

constexpr size_t most_notes = 64;

bool is_of(const WebuiField& field, WebuiRoute route) {
  return route == WebuiRoute::text2image ? field.text2image : field.image2image;
}

const WebuiField* find_field(std::string_view name, WebuiRoute route) {
  const auto all = webui_fields();
  auto it = std::find_if(all.begin(), all.end(), [&](const WebuiField& field) {
    return field.name == name && is_of(field, route);
  });
  return it == all.end() ? nullptr : &*it;
}

std::string nearest_field(const std::string& name, WebuiRoute route) {
  std::vector<std::string> names;
  for (const WebuiField& each : webui_fields()) {
    if (is_of(each, route)) names.emplace_back(each.name);
  }
  const std::string close = nearest_name(name, names);
  return close.empty() ? "" : fmt::format("did you mean '{}'?", close);
}

}  // namespace

WebuiReader::WebuiReader(Json fields, WebuiRoute route, const WebuiSetting& setting)
    : fields_(std::move(fields)), route_(route), setting_(setting) {
  if (!fields_.is_object())
    throw InvalidRequest({"body", shown(fields_), "an object is expected", "docs/server.md"});
}

void WebuiReader::refuse(const std::string& field, const Json& value, const std::string& message,
                         const std::string& fix) {
  findings_.push_back({field, shown(value), message, fix});
}

void WebuiReader::note(const std::string& field, const Json& value, const std::string& message,
                       const std::string& fix) {
  if (notes_.size() < most_notes) notes_.push_back({field, shown(value), message, fix});
}

const Json& WebuiReader::at(const char* name) const {
  static const Json none;
  auto it = fields_.find(name);
  return it == fields_.end() ? none : *it;
}

std::string WebuiReader::text(const char* name) const {
  return at(name).is_string() ? at(name).get<std::string>() : "";
}

bool WebuiReader::flag(const char* name) const {
  const auto value = webui_value(at(name), "boolean");
  return value && value->get<bool>();
}

int64_t WebuiReader::count(const char* name, int64_t otherwise) const {
  return at(name).is_number_integer() ? at(name).get<int64_t>() : otherwise;
}

WebuiRequest WebuiReader::read() {
  WebuiRequest made;
  check_fields();
  if (!findings_.empty()) throw InvalidRequest(findings_);
  request_["model"] = setting_.model;
  override_settings();
  if (!skips_layers_ && at("clip_skip") != 0) clip_skip("clip_skip", at("clip_skip"));
  check_scripts();
  guidance();
  sampler();
  images_at_a_time(made);
  if (route_ == WebuiRoute::text2image)
    second_pass();
  else
    start_image();
  prompts();
  made.send_images = at("send_images").is_null() || flag("send_images");
  if (!findings_.empty()) throw InvalidRequest(findings_);
  made.served = read_served_request(text_of(request_), {}, setting_.models);
  made.served.all_take_effect = true;
  made.served.may_lack_effect = {"guidance_scale"};
  made.served.rounds_sizes = true;
  if (!flag("include_init_images")) {
    for (const char* name : {"init_images", "mask"}) {
      if (fields_.contains(name)) fields_[name] = nullptr;
    }
  }
  made.parameters = std::move(fields_);
  made.model = request_["model"].get<std::string>();
  made.notes = std::move(notes_);
  return made;
}

// Null counts as not given.
void WebuiReader::check_fields() {
  for (auto& [name, value] : fields_.items()) {
    if (value.is_null()) continue;
    if (const WebuiField* known = find_field(name, route_))
      check_field(*known, value);
    else
      ignore_field(name.substr(0, 200), value);
  }
}

void WebuiReader::check_field(const WebuiField& field, Json& value) {
  const std::string name(field.name);
  if (field.use == WebuiUse::ignored) {
    if (!is_nothing(value)) note(name, value, "ignored: it changes no image");
    return;
  }
  auto read = webui_value(value, field.type);
  if (field.use == WebuiUse::neutral) {
    const Json taken = parse_json(field.to, name);
    if (std::find(taken.begin(), taken.end(), read.value_or(value)) == taken.end())
      refuse(name, value, "is not done by this server", "omit it");
  } else if (!read) {
    refuse(name, value, fmt::format("{} is expected", field.type), "docs/server.md");
  } else {
    value = std::move(*read);
    if (field.use == WebuiUse::config) config()[std::string(field.to)] = value;
  }
}

// webui skips what it does not know, and so do the programs that speak its API. An image that is
// sent to a route without one is a mistake all the same.
void WebuiReader::ignore_field(const std::string& name, const Json& value) {
  const bool other = find_field(
      name, route_ == WebuiRoute::text2image ? WebuiRoute::image2image : WebuiRoute::text2image);
  const bool image = name == "init_images" || name == "mask";
  if (other && image && !is_nothing(value))
    return refuse(name, value, "txt2img has no such field", "send it to /sdapi/v1/img2img");
  if (other && is_nothing(value)) return;
  if (other) return note(name, value, "ignored: it is a field of the other route");
  note(name, value, "ignored: unknown field", nearest_field(name, route_));
}

void WebuiReader::check_scripts() {
  const Json& scripts = at("alwayson_scripts");
  if (!scripts.is_object()) return;
  for (const auto& [name, script] : scripts.items()) {
    const std::string field = "alwayson_scripts." + name.substr(0, 200);
    if (!webui_script_does_nothing(script))
      refuse(field, script, "this server runs no scripts", "omit it");
    else
      note(field, script, "ignored: it is switched off");
  }
}

void WebuiReader::override_settings() {
  const Json& settings = at("override_settings");
  if (!settings.is_object()) return;
  for (const auto& [name, value] : settings.items()) {
    if (!value.is_null()) setting(name, value);
  }
}

void WebuiReader::setting(const std::string& name, const Json& value) {
  if (name == "sd_model_checkpoint") return model(value);
  if (name == "samples_format") return format(value);
  if (name == "show_progress_every_n_steps") return previews(value);
  if (name == "CLIP_stop_at_last_layers") {
    skips_layers_ = true;
    return clip_skip("override_settings.CLIP_stop_at_last_layers", value);
  }
  const std::string field = "override_settings." + name.substr(0, 200);
  if (!webui_setting_does_nothing(name, value))
    refuse(field, value, "this server has no such setting",
           "omit it; there are sd_model_checkpoint, CLIP_stop_at_last_layers, samples_format, "
           "show_progress_every_n_steps");
  else if (!is_nothing(value))
    note(field, value, "ignored: it changes no image");
}

void WebuiReader::model(const Json& name) {
  if (name == "") return;
  const std::string given = name.is_string() ? name.get<std::string>() : "";
  const std::string known = webui_model_of(given, setting_.models);
  if (known.empty())
    refuse("override_settings.sd_model_checkpoint", name, "is not served here",
           "GET /sdapi/v1/sd-models lists what is");
  else
    request_["model"] = known;
}

// webui counts the text encoder's last layer as 1.
void WebuiReader::clip_skip(const char* field, const Json& value) {
  if (value.is_null()) return;
  const auto read = webui_value(value, "integer");
  if (!read || *read < 1 || *read > 65)
    return refuse(field, value, "out of range", "give 1, which skips none, to 65");
  if (*read > 1) config()["clip_skip"] = read->get<int64_t>() - 1;
}

void WebuiReader::format(const Json& value) {
  static const std::map<std::string, const char*> formats{
      {"png", "png"}, {"jpg", "jpeg"}, {"jpeg", "jpeg"}, {"webp", "webp"}};
  auto it = value.is_string() ? formats.find(value.get<std::string>()) : formats.end();
  if (it == formats.end())
    return refuse("override_settings.samples_format", value, "is none of the formats",
                  "give png, jpg or webp");
  config()["output_format"] = it->second;
}

void WebuiReader::previews(const Json& value) {
  const auto read = webui_value(value, "integer");
  if (!read || *read < -1 || *read > 1000)
    return refuse("override_settings.show_progress_every_n_steps", value, "is no number of steps",
                  "give 1 or more; 0 and -1: none");
  if (*read > 0) config()["preview_every"] = *read;
}

WebuiRequest read_webui_request(std::string_view body, WebuiRoute route,
                                const WebuiSetting& setting) {
  return WebuiReader(parse_json(body, "request", body.size()), route, setting).read();
}

std::string webui_model_of(const std::string& given, const ServedModels& models) {
  std::string name = given.substr(0, given.find(" ["));
  if (models.models.contains(name)) return name;
  constexpr std::string_view extension = ".safetensors";
  if (name.ends_with(extension)) name.resize(name.size() - extension.size());
  return models.models.contains(name) ? name : "";
}

}  // namespace omnirt::serve
