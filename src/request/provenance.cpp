#include "request/provenance.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/path_text.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/run_keys.hpp"
#include "request/fingerprint.hpp"
#include "request/given_values.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

// 64 bits distinguish files that no one made to collide; an image embeds several.
constexpr size_t digits = 16;

// The components that the whole run uses, whichever part of it runs here.
std::set<std::string> components_of(const Proposal& proposal) {
  std::set<std::string> names;
  for (const auto& block : proposal.plan.blocks) {
    for (const PortInfo& port : block->ports()) {
      if (port.kind == PortInfo::Kind::component) names.insert(port.name);
    }
  }
  for (const Condition& condition : proposal.guider->conditions()) names.insert(condition.network);
  std::erase_if(names, [&](const std::string& name) { return !proposal.folder.find(name); });
  return names;
}

std::string of_component(const Proposal& proposal, const std::string& name) {
  if (proposal.resumed) {
    auto saved = proposal.resumed->components.find(name);
    if (saved != proposal.resumed->components.end()) return saved->second.fingerprint;
  }
  return fingerprint_of(*proposal.catalogue, *proposal.folder.find(name));
}

// The files that the request names, by field. Of a run that continues its images were read
// before: the state has their fingerprints.
std::map<std::string, std::string> files_of(const Proposal& proposal) {
  std::map<std::string, std::string> files;
  for (size_t i = 0; i < proposal.adapters.size(); ++i)
    files[proposal.adapters[i].field] = proposal.adapters[i].file->path.native();
  if (proposal.resumed) return files;
  for (const auto& [name, path] : input_files(proposal)) files["inputs." + name] = path;
  return files;
}

Json fingerprints_of(const Proposal& proposal) {
  Json all = Json::object();
  auto add = [&](const std::string& name, const std::string& digest) {
    if (!digest.empty()) all[name] = digest.substr(0, digits);
  };
  for (const std::string& name : components_of(proposal)) add(name, of_component(proposal, name));
  for (const auto& [field, path] : files_of(proposal)) add(field, fingerprint_of_file(path));
  if (proposal.resumed) {
    for (const auto& [name, digest] : proposal.resumed->files) add("inputs." + name, digest);
  }
  return all;
}

std::string place_of(const Proposal& proposal, const std::string& name) {
  if (const ComponentFolder* component = proposal.folder.find(name))
    return path_text(component->folder);
  auto files = files_of(proposal);
  auto file = files.find(name);
  return file == files.end() ? "the state" : file->second;
}

// Texts, in lists of lists too, as base names.
Json base_names(const Json& value) {
  if (value.is_string()) return fs::path(value.get<std::string>()).filename().string();
  Json names = value;
  if (value.is_array() || value.is_object()) {
    for (Json& each : names) each = base_names(each);
  }
  return names;
}

void leave_base_names(const Proposal& proposal, Json& record) {
  if (record["model"].get<std::string>().starts_with("/"))
    record["model"] = base_names(record["model"]);
  record["config"].erase(keys::model_path.name);
  record["config"].erase(keys::single_file_config.name);
  for (auto& [name, value] : record["inputs"].items()) {
    const RequestInput* input = proposal.plan.find_input(name);
    if (input && input->type != typeid(std::vector<std::string>)) value = base_names(value);
  }
  if (record.contains("components")) record["components"] = base_names(record["components"]);
  if (!record.contains("adapters")) return;
  for (Json& adapter : record["adapters"]) adapter["path"] = base_names(adapter["path"]);
}

}  // namespace

std::map<std::string, std::string> input_files(const Proposal& proposal) {
  std::map<std::string, std::string> files;
  for (const auto& [name, image] : proposal.images) files[name] = image.path;
  for (const auto& [name, file] : proposal.latents) files[name] = file.path;
  for (const auto& [name, file] : proposal.embeds) files[name] = file.path;
  for (const auto& [name, list] : proposal.image_lists) {
    for (size_t i = 0; i < list.size(); ++i) files[fmt::format("{}[{}]", name, i)] = list[i].path;
  }
  std::erase_if(files, [](const auto& each) {
    std::error_code error;
    return each.second == in_memory_path || !fs::is_regular_file(each.second, error);
  });
  return files;
}

Json provenance_of(const Proposal& proposal) {
  CarriedRequest wanted = proposal.config.get(keys::metadata);
  if (wanted == CarriedRequest::none) return nullptr;
  Json record = proposal.record();
  for (const KeyInfo* key : keys::about_the_run()) record["config"].erase(key->name);
  // What says which files the model is made of is part of its name.
  for (const KeyInfo* key : {&keys::model_path, &keys::single_file_config}) {
    auto given = proposal.config.find(key->name);
    if (given && given->value.is_string()) record["config"][key->name] = given->value;
  }
  record["fingerprints"] = fingerprints_of(proposal);
  if (wanted == CarriedRequest::short_form) leave_base_names(proposal, record);
  return record;
}

void check_fingerprints(Proposal& proposal) {
  const Json& wanted = proposal.request.fingerprints;
  if (wanted.empty() || !proposal.ok()) return;
  Json here = fingerprints_of(proposal);
  for (const auto& [name, value] : wanted.items()) {
    std::string field = "fingerprints." + name;
    if (!value.is_string() || value.get<std::string>().size() < digits) {
      proposal.error({field, shown(value), fmt::format("{} digits are expected", digits), ""});
    } else if (!here.contains(name)) {
      proposal.error({field, shown(value), "this run has no such part",
                      "name the model that the request was made with, or remove fingerprints"});
    } else if (!value.get<std::string>().starts_with(here[name].get<std::string>())) {
      proposal.error(
          {field, value.get<std::string>(),
           fmt::format("the request was made with another one (model {}): {} is {}",
                       proposal.request.model, place_of(proposal, name),
                       here[name].get<std::string>()),
           fmt::format("name the one that it was made with, or remove {} to use this one", field)});
    }
  }
}

}  // namespace omnirt
