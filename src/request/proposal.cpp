#include "request/proposal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/report.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/run_keys.hpp"

namespace omnirt {

void Proposal::take(const InvalidRequest& thrown) {
  errors.insert(errors.end(), thrown.findings().begin(), thrown.findings().end());
}

void Proposal::unused(const KeyInfo& key, const std::string& why, const std::string& way_out) {
  unused_keys.insert(key.name);
  const ConfigValue* given = config.find(key.name);
  if (!given || given->value.is_null() || given->origin != Origin::user) return;
  warn({fmt::format("config.{}", key.name), shown(given->value), why, way_out});
}

std::string Proposal::path_of(const std::string& field, const std::string& given) const {
  namespace fs = std::filesystem;
  std::string path = request.path_of(field, given);
  if (confine.empty()) return path;
  // Links are followed, of what is there already.
  std::error_code error;
  fs::path limit = fs::weakly_canonical(confine, error), real = fs::weakly_canonical(path, error);
  auto [end, rest] = std::ranges::mismatch(limit, real);
  if (!error && (end == limit.end() || end->empty())) return path;
  throw InvalidRequest({field, given,
                        fmt::format("{} lies outside of {}, to which requests are "
                                    "confined",
                                    path, confine),
                        "name a path in that folder"});
}

const std::vector<std::string>& Proposal::texts_of(const std::string& input) const {
  static const std::vector<std::string> none;
  auto it = texts.find(input);
  return it == texts.end() ? none : it->second;
}

LevelPolicy Proposal::levels() const {
  return {parse_level(config.get(keys::level)),
          parse_level(config.maybe(keys::require_level).value_or(""))};
}

void Proposal::refuse_component(const std::string& name) const {
  auto refused = refused_components.find(name);
  if (refused != refused_components.end()) throw InvalidRequest(refused->second);
  const ComponentFolder* component = folder.find(name);
  if (!component) {
    throw InvalidRequest({"model." + name, folder.path.string(),
                          "the model's folder has no such component, and this task needs it",
                          fmt::format("give components.{} a folder", name)});
  }
  throw Unsupported({"components." + name, component->class_name,
                     "a component of this class cannot stand here",
                     "use one of the class that the model was made with"});
}

Json Proposal::inputs_json() const {
  Json json = Json::object();
  for (const auto& [name, values] : texts) {
    if (values.size() == 1)
      json[name] = values.front();
    else
      json[name] = values;
  }
  for (const auto& [name, image] : images) json[name] = image.path;
  for (const auto& [name, file] : latents) json[name] = file.path;
  for (const auto& [name, list] : image_lists) {
    for (const ImageInput& image : list) json[name].push_back(image.path);
  }
  // Of a run that carries on, the pictures are those that its state was made with.
  if (resumed) {
    Json recorded = request.inputs;
    for (const auto& [name, value] : texts) recorded[name] = json[name];
    return recorded;
  }
  return json;
}

Json Proposal::record() const {
  Json settled = Json::object();
  for (const auto& [name, value] : config.all()) {
    auto is_this = [&key = name](const KeyInfo* other) { return key == other->name; };
    bool about_files = std::ranges::any_of(keys::about_files(), is_this);
    // A preset's values stand in the config themselves.
    bool used = !about_files && !unused_keys.contains(name);
    if (used && name != keys::preset.name && !value.value.is_null()) settled[name] = value.value;
  }
  Json json = {{"task", task}, {"model", model}, {"inputs", inputs_json()}, {"config", settled}};
  if (!request.guider.empty()) json["guider"] = request.guider;
  for (const auto& [name, value] : request.components.items()) {
    json["components"][name] =
        value.is_string() ? Json(request.path_of("components." + name, value.get<std::string>()))
                          : value;
  }
  if (!request.adapters.empty()) json["adapters"] = request.adapters;
  return json;
}

Json Proposal::to_json() const {
  Json findings = Json::array(), doubts = Json::array();
  for (const Finding& finding : errors) findings.push_back(omnirt::to_json(finding));
  for (const Finding& finding : warnings) doubts.push_back(omnirt::to_json(finding));
  Json passed_over = Json::array();
  for (const PassedOver& each : backends_passed_over)
    passed_over.push_back({{"name", each.name}, {"reason", each.reason}});
  Json told = Json::array();
  for (const AdapterReport& adapter : adapter_reports) told.push_back(omnirt::to_json(adapter));
  return {{"ok", ok()},
          {"task", task},
          {"model", spec ? spec->id : request.model},
          {"model_path", folder.path.string()},
          {"single_file", single_file},
          {"backend", backend},
          {"backends_passed_over", passed_over},
          {"workflow", workflow_of(plan, part)},
          {"inputs", inputs_json()},
          {"config", config.to_json()},
          {"adapters", told},
          {"errors", findings},
          {"warnings", doubts}};
}

}  // namespace omnirt
