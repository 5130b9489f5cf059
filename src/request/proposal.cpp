#include "request/proposal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/path_text.hpp"
#include "base/report.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/memory_keys.hpp"
#include "pipeline/run_keys.hpp"
#include "request/given_values.hpp"
#include "request/web_address.hpp"

namespace omnirt {

namespace {
namespace fs = std::filesystem;

// Links are followed, as far as the path exists.
bool is_within(const fs::path& folder, const fs::path& path) {
  std::error_code error;
  fs::path limit = fs::weakly_canonical(folder, error), real = fs::weakly_canonical(path, error);
  auto [end, rest] = std::ranges::mismatch(limit, real);
  return !error && (end == limit.end() || end->empty());
}

[[noreturn]] void lies_outside(const std::string& field, const std::string& given,
                               const std::string& path, const std::string& confine) {
  throw InvalidRequest({field, given,
                        fmt::format("{} lies outside of {}, to which requests are "
                                    "confined",
                                    path, confine),
                        "name a path in that folder"});
}

}  // namespace

std::string Proposal::path_of(const std::string& field, const std::string& given) const {
  refuse_url(field, given);
  std::string path = request.path_of(field, given);
  if (!reaches(field, given)) lies_outside(field, given, path_text(path), path_text(confine));
  return path;
}

bool Proposal::reaches(const std::string& field, const std::string& given) const {
  return confine.empty() || is_within(confine, request.path_of(field, given));
}

std::string Proposal::source_of(const std::string& field, const std::string& given) const {
  std::string path = path_of(field, given);
  std::error_code error;
  if (confine.empty() || !fs::is_directory(path, error)) return path;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (it->is_symlink(ignored) && !is_within(confine, it->path()))
      lies_outside(field, given, path_text(it->path()) + ", a link,", path_text(confine));
  }
  return path;
}

const nn::Autoencoder* Proposal::autoencoder() const {
  for (const auto& block : plan.blocks) {
    for (const PortInfo& port : block->ports()) {
      if (port.kind != PortInfo::Kind::component) continue;
      if (const auto* found = facts.network<nn::Autoencoder>(port.name)) return found;
    }
  }
  return nullptr;
}

LevelPolicy Proposal::levels() const {
  return {choice_of<Level>(name_of(config.get(keys::level))), config.maybe(keys::require_level)};
}

bool Proposal::limits_memory() const {
  return config.maybe(keys::memory_budget) || config.maybe(keys::device_memory_budget) ||
         config.maybe(keys::offload).value_or(Offload::automatic) != Offload::automatic;
}

Json Proposal::inputs_json() const {
  Json json = Json::object();
  for (const auto& [name, values] : texts) {
    if (values.size() == 1)
      json[name] = values.front();
    else
      json[name] = values;
  }
  for (const auto& [name, image] : images) json[name] = path_text(image.path);
  for (const auto& [name, file] : latents) json[name] = path_text(file.path);
  for (const auto& [name, file] : embeds) json[name] = path_text(file.path);
  for (const auto& [name, list] : image_lists) {
    for (const ImageInput& image : list) json[name].push_back(path_text(image.path));
  }
  // No request file holds one: a record with it is refused, and makes no other image in silence.
  if (noise) json["generator"] = in_memory_path;
  // Of a run that continues, the images are those that its state was made with.
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
    // A preset's values are in the config themselves.
    bool used = !about_files && !unused_keys.contains(name);
    if (used && name != keys::preset.name && !value.value.is_null()) settled[name] = value.value;
  }
  Json json = {{"task", task}, {"model", model}, {"inputs", inputs_json()}, {"config", settled}};
  if (!request.guider.empty()) json["guider"] = request.guider;
  for (const auto& [name, value] : request.components.items()) {
    const std::string field = "components." + name;
    const std::string given = value.is_string() ? value.get<std::string>() : "";
    const bool is_path = value.is_string() && !request.location_of(field, given);
    json["components"][name] = is_path ? Json(request.path_of(field, given)) : value;
  }
  if (!request.adapters.empty()) json["adapters"] = request.adapters;
  return json;
}

std::vector<DeviceId> Proposal::devices() const {
  std::vector<DeviceId> all{device};
  for (const auto& [component, each] : placed) {
    if (std::ranges::find(all, each) == all.end()) all.push_back(each);
  }
  return all;
}

std::vector<ComponentFacts> Proposal::networks_on(const DeviceId& on) const {
  std::vector<ComponentFacts> found;
  for (const std::string& name : plan.components) {
    const ComponentFolder* part = folder.find(name);
    if (part && catalogue->find_network(part->class_name) && device_of(name) == on)
      found.push_back({name, part->class_name});
  }
  return found;
}

Capabilities Proposal::capabilities_of(const DeviceId& on) const {
  return make_backend(catalogue->backends, on)->capabilities();
}

SettledReport Proposal::settled_report() const {
  SettledReport report{.task = task,
                       .model = spec ? spec->id : request.model,
                       .model_path = folder.path.native(),
                       .single_file = single_file,
                       .backend = device.backend,
                       .device = device.backend.empty() ? "" : device.text(),
                       .workflow = workflow_of(plan, part),
                       .config_resolved = config,
                       .inputs_resolved = inputs_json(),
                       .adapters = adapter_reports,
                       .warnings = warnings};
  for (const PassedOver& each : backends_passed_over)
    report.backends_passed_over.push_back({each.name, each.reason});
  return report;
}

CheckReport Proposal::check_report() const {
  return {settled_report(), ok(), memory_plan, errors};
}

}  // namespace omnirt
