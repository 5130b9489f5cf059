#include "serve/request_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/nearest.hpp"
#include "pipeline/run_keys.hpp"
#include "request/named_files.hpp"
#include "serve/adapter_upload.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;
namespace {

constexpr const char* by_server = "omit it: over HTTP no request names a path of the server";

bool looks_like_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.find('\\') != std::string_view::npos ||
         text.starts_with(".") || text.starts_with("~");
}

// Texts anywhere in a config or a guider are names, and have no slash.
void refuse_slashes(const std::string& field, const Json& value, std::vector<Finding>& findings) {
  if (value.is_string() && looks_like_path(value.get<std::string>())) {
    findings.push_back({field, shown(value), "could be a path", by_server});
  } else if (value.is_structured()) {
    for (const auto& [name, each] : value.items())
      refuse_slashes(field + "." + name, each, findings);
  }
}

void require_names(const Json& config, std::vector<Finding>& findings) {
  for (const auto& [key, names] : served_choices()) {
    auto it = config.find(key);
    if (it == config.end() || it->is_null()) continue;
    if (it->is_string() && names.contains(it->get<std::string>())) continue;
    findings.push_back({"config." + key, shown(*it), "is none of its names",
                        fmt::format("give {}", fmt::join(names, ", "))});
  }
}

bool names_adapters(const Json& texts) {
  if (texts.is_string()) return texts.get<std::string>().find("<lora:") != std::string::npos;
  return texts.is_array() && std::any_of(texts.begin(), texts.end(), names_adapters);
}

}  // namespace

const std::set<std::string>& refused_config_keys() {
  static const std::set<std::string> names = [] {
    std::set<std::string> made{keys::stop_after.name, keys::preview_name.name};
    for (const KeyInfo* key : keys::paths()) made.insert(key->name);
    made.erase(keys::preview_decoder.name);  // some of its values are names
    return made;
  }();
  return names;
}

const std::map<std::string, std::set<std::string>>& served_choices() {
  static const std::map<std::string, std::set<std::string>> choices{
      {keys::preview_decoder.name, {"linear", "tiny"}},
      {"hires_upscaler",
       {"latent", "latent-antialiased", "latent-bicubic", "latent-bicubic-antialiased",
        "latent-nearest", "latent-nearest-exact", "lanczos", "nearest"}},
      {keys::metadata.name, {"short", "none"}},
      // Frames would be a folder.
      {"output_format", {"png", "jpeg", "webp", "gif", "mp4"}}};
  return choices;
}

void refuse_paths(const GenerateRequest& request, std::vector<Finding>& findings) {
  for (const auto& [name, value] : request.config.items()) {
    const std::string field = "config." + name;
    if (refused_config_keys().contains(name))
      findings.push_back({field, shown(value), "is a path", by_server});
    else
      refuse_slashes(field, value, findings);
  }
  refuse_slashes("guider", request.guider, findings);
  require_names(request.config, findings);
  for (const auto& [name, value] : request.inputs.items()) {
    if (names_adapters(value))
      findings.push_back({"inputs." + name, "<lora:", "adapters in prompts are not served",
                          "name them in `adapters`"});
  }
}

namespace {

constexpr int deepest_lora_folder = 8;

// Calls `see` with each adapter's file, in a folder or below it, until it returns true.
template <class See>
void each_lora(const ServedModels& models, See&& see) {
  for (const fs::path& folder : models.lora_folders) {
    std::error_code error;
    for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
         it.increment(error)) {
      if (it.depth() >= deepest_lora_folder) it.disable_recursion_pending();
      if (has_suffix(it->path(), {safetensors_suffix}) && see(it->path())) return;
    }
  }
}

// The file of an adapter among those of the folders, by its name with or without the extension.
fs::path find_lora(const std::string& name, const ServedModels& models) {
  fs::path found;
  each_lora(models, [&](const fs::path& path) {
    const bool same = path.filename() == name || path.stem() == name;
    if (same) found = path;
    return same;
  });
  return found;
}

std::vector<std::string> names_of(const std::map<std::string, std::string>& models) {
  std::vector<std::string> names;
  for (const auto& [name, path] : models) names.push_back(name);
  return names;
}

void settle_model(ServedRequest& served, const ServedModels& models,
                  std::vector<Finding>& findings) {
  std::string& name = served.request.model;
  if (name.empty()) name = models.first;
  auto it = models.models.find(name);
  if (it != models.models.end()) {
    served.model = it->second;
    return;
  }
  findings.push_back(
      {"model", name.substr(0, 200), "is not served here", suggest(name, names_of(models.models))});
}

void settle_controlnet(const std::string& field, const Json& value, const ServedModels& models,
                       GenerateRequest& request, std::vector<Finding>& findings) {
  std::error_code error;
  const auto* name = value.get_ptr<const std::string*>();
  const bool known = name && is_adapter_name(*name) && !models.controlnets.empty() &&
                     fs::is_directory(models.controlnets / *name, error);
  if (known)
    request.locations[{"components", *name}] = (models.controlnets / *name).native();
  else
    findings.push_back({field, shown(value), "no ControlNet of this name is served here",
                        "name one of GET /v1/adapters"});
}

// ControlNets by their names, one or several in a list.
void settle_components(GenerateRequest& request, const ServedModels& models,
                       std::vector<Finding>& findings) {
  for (const auto& [name, value] : request.components.items()) {
    const std::string field = "components." + name;
    if (name != "controlnet") {
      findings.push_back({field, shown(value), "is a path", by_server});
      continue;
    }
    for (const Json& each : value.is_array() ? value : Json::array({value}))
      settle_controlnet(field, each, models, request, findings);
  }
}

}  // namespace

void settle_names(ServedRequest& served, const ServedModels& models,
                  std::vector<Finding>& findings) {
  GenerateRequest& request = served.request;
  settle_model(served, models, findings);
  settle_components(request, models, findings);
  for (size_t i = 0; i < request.adapters.size(); ++i) {
    Json& adapter = request.adapters[i];
    const std::string field = fmt::format("adapters[{}]", i);
    if (adapter.is_string()) adapter = adapter_of_text(adapter.get<std::string>());
    if (!adapter.is_object() || !adapter.contains("path"))
      continue;  // validation says what is missing
    const auto* path = adapter["path"].get_ptr<const std::string*>();
    if (!path) {
      findings.push_back(
          {field + ".path", shown(adapter["path"]), "a name is expected", by_server});
      continue;
    }
    const fs::path found = looks_like_path(*path) ? fs::path() : find_lora(*path, models);
    if (found.empty())
      findings.push_back({field, path->substr(0, 200), "no adapter of this name is served here",
                          "name one of GET /v1/adapters, or a file of the server's LoRA folders"});
    else
      request.locations[{"adapters", *path}] = found.native();
  }
}

std::vector<std::string> served_lora_names(const ServedModels& models) {
  std::vector<std::string> names;
  each_lora(models, [&](const fs::path& path) {
    names.push_back(path.stem().string());
    return false;
  });
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace omnirt::serve
