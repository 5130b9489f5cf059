#include "weights/pipeline_folder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "base/python_json.hpp"
#include "base/remembered.hpp"
#include "io/cached_path.hpp"
#include "io/file.hpp"
#include "io/file_state.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

// Real configs take 20 KB and less; as values they take some twenty times their text.
constexpr size_t max_config_bytes = size_t{1} << 20;
constexpr size_t max_pipeline_bytes = 4 * max_config_bytes;
constexpr size_t max_components = 64;
constexpr const char* usual_index = "model_index.json";
constexpr const char* modular_index = "modular_model_index.json";

struct ReadConfig {
  Json json;
  size_t bytes = 0;
};

// Small ones, which nearly all are: a server checks each request against its model's configs.
constexpr size_t max_known_config_bytes = size_t{16} << 10;
Remembered<ReadConfig>& known_configs() {
  static Remembered<ReadConfig> known(64);
  return known;
}

// Reads JSON files, as many as a pipeline's configs may take together.
class ConfigFiles {
 public:
  Json read(const fs::path& file) {
    const std::string state = io::file_state(file);
    const std::string key = file.native() + "\n" + state;
    if (auto known = state.empty() ? std::nullopt : known_configs().find(key)) {
      count(file, known->bytes);
      return std::move(known->json);
    }
    std::string text = io::read_file(file, max_config_bytes);
    count(file, text.size());
    Json json = parse_python_json(text, path_text(file), max_config_bytes);
    if (!state.empty() && text.size() <= max_known_config_bytes)
      known_configs().keep(key, {json, text.size()});
    return json;
  }

 private:
  void count(const fs::path& file, size_t bytes) {
    read_ += bytes;
    if (read_ <= max_pipeline_bytes) return;
    throw InvalidFile({path_text(file), fmt::format("{} bytes", bytes),
                       fmt::format("the configs of one pipeline take more than {} bytes together",
                                   max_pipeline_bytes),
                       ""});
  }
  size_t read_ = 0;
};

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// A file, or a link that leads nowhere, whose reader says what is missing.
bool is_file_or_link(const fs::path& path) {
  std::error_code error;
  return is_file(path) || fs::is_symlink(path, error);
}

// The config of a component has a file name that depends on what it is; tokenizers may have none.
// Folders of processors hold a tokenizer, too.
void read_config_of(ComponentFolder& component, ConfigFiles& configs) {
  std::vector<const char*> names{"config.json", "scheduler_config.json", "tokenizer_config.json",
                                 "preprocessor_config.json"};
  // Version 5 of transformers writes the second.
  if (component.class_name.ends_with("Processor")) {
    names = {"preprocessor_config.json", "processor_config.json", "tokenizer_config.json",
             "config.json"};
  }
  for (const char* name : names) {
    fs::path file = component.folder / name;
    if (!is_file_or_link(file)) continue;
    component.config_file = file;
    component.config = configs.read(file);
    if (!component.config.is_object()) {
      throw InvalidFile({path_text(file), shown(component.config), "an object is expected", ""});
    }
    return;
  }
}

// A name from model_index.json becomes a folder below the pipeline's: it must lead to one in it.
void check_component_name(const fs::path& index, const std::string& name) {
  if (name.find('/') != std::string::npos || name.find('\\') != std::string::npos || name == ".." ||
      name == "." || name.empty()) {
    throw InvalidFile(
        {path_text(index), name, "not a component's name", "names are plain folder names"});
  }
}

std::string class_of(const Json& config) {
  if (config.contains("_class_name") && config["_class_name"].is_string()) {
    return config["_class_name"].get<std::string>();
  }
  if (config.contains("architectures") && config["architectures"].is_array() &&
      !config["architectures"].empty() && config["architectures"][0].is_string()) {
    return config["architectures"][0].get<std::string>();
  }
  if (config.contains("tokenizer_class") && config["tokenizer_class"].is_string()) {
    return config["tokenizer_class"].get<std::string>();
  }
  return "";
}

fs::path checked_folder(const fs::path& path, const std::string& field) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw InvalidRequest(
        {field, path_text(path), "there is no such folder", "check the path, or `omnirt models`"});
  }
  if (!is_folder(path)) {
    throw InvalidRequest(
        {field, path_text(path), "a file, where a folder is expected",
         "give a folder as diffusers' save_pretrained writes it, with model_index.json"});
  }
  return fs::absolute(path, error).lexically_normal();
}

Json checked_index(ConfigFiles& configs, const fs::path& file) {
  Json index = configs.read(file);
  if (!index.is_object())
    throw InvalidFile({path_text(file), shown(index), "an object is expected", ""});
  return index;
}

void add(PipelineFolder& folder, const fs::path& index, ComponentFolder component,
         ConfigFiles& configs) {
  if (folder.components.size() == max_components) {
    throw InvalidFile({path_text(index), component.name,
                       fmt::format("more than {} components", max_components), ""});
  }
  read_config_of(component, configs);
  std::string name = component.name;
  folder.components.emplace(std::move(name), std::move(component));
}

void read_usual(PipelineFolder& folder, const fs::path& index, ConfigFiles& configs) {
  folder.index = checked_index(configs, index);
  folder.class_name = class_of(folder.index);
  for (const auto& [name, entry] : folder.index.items()) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_string())
      continue;
    check_component_name(index, name);
    const fs::path place = folder.path / name;
    if (!is_folder(place)) {
      folder.elsewhere[name] = "";
      continue;
    }
    add(folder, index,
        {name, entry[0].get<std::string>(), entry[1].get<std::string>(), place, {}, Json::object()},
        configs);
  }
}

// Where a modular pipeline says that a component is: [library, class, {loading fields}].
struct ComponentSource {
  std::string library, class_name;
  std::string repository, subfolder;
  bool of_revision = false;
};

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : "";
}

// nullopt where the entry is no component's, or names no place.
std::optional<ComponentSource> source_of(const Json& entry) {
  if (!entry.is_array() || entry.size() != 3 || !entry[2].is_object()) return std::nullopt;
  const Json& fields = entry[2];
  const Json hint = fields.value("type_hint", Json());
  const bool hinted = hint.is_array() && hint.size() == 2;
  ComponentSource made{.library = text_of(entry[0]),
                       .class_name = text_of(entry[1]),
                       .repository = text_of(fields.value("pretrained_model_name_or_path", Json())),
                       .subfolder = text_of(fields.value("subfolder", Json())),
                       .of_revision = !text_of(fields.value("revision", Json())).empty()};
  if (made.class_name.empty() && hinted) {
    made.library = text_of(hint[0]);
    made.class_name = text_of(hint[1]);
  }
  if (made.repository.empty() || made.class_name.empty()) return std::nullopt;
  return made;
}

// A subfolder from the index becomes a path below a repository: it must lead to one in it.
void check_subfolder(const fs::path& index, const std::string& name, const std::string& subfolder) {
  const fs::path path(subfolder);
  const bool leaves = path.is_absolute() || std::ranges::find(path, fs::path("..")) != path.end();
  if (!leaves && subfolder.find('\\') == std::string::npos) return;
  throw InvalidFile({path_text(index), fmt::format("{}.subfolder = {}", name, subfolder),
                     "leads out of the repository", "a folder below it is expected"});
}

// In the folder itself, as its copies keep the original's index (reference: _is_local_component);
// else in the repository that the index names. Of another revision than the cache's: nowhere.
fs::path place_of(const fs::path& folder, const ComponentSource& source,
                  const FindRepository& find) {
  if (!source.subfolder.empty() && is_folder(folder / source.subfolder))
    return folder / source.subfolder;
  if (source.of_revision || !find) return {};
  const fs::path repository = find(source.repository);
  const fs::path place = repository.empty() ? repository : repository / source.subfolder;
  return is_folder(place) ? place : fs::path();
}

// Indices name processors, or classes that look for one; here a processor's folder is its
// tokenizer's, but for a component that is called processor, which prepares images, too.
std::string tokenizer_class_in(const fs::path& place, const std::string& name,
                               const std::string& named, ConfigFiles& configs) {
  if (name == "processor") return named;
  const fs::path file = place / "tokenizer_config.json";
  if (!named.ends_with("Processor") && named != "AutoTokenizer") return named;
  if (!is_file(file)) return named;
  const Json config = configs.read(file);
  const std::string own =
      config.is_object() ? text_of(config.value("tokenizer_class", Json())) : "";
  return own.empty() ? named : own;
}

// diffusers' modular pipelines, the only form in which some models are published: blocks by their
// class's name, and where each component is (ModularPipeline._component_spec_to_dict).
void read_modular(PipelineFolder& folder, const fs::path& index, const FindRepository& find,
                  ConfigFiles& configs) {
  folder.index = checked_index(configs, index);
  folder.class_name = class_of(folder.index);
  for (auto& [name, entry] : folder.index.items()) {
    std::optional<ComponentSource> source = source_of(entry);
    if (!source) continue;
    check_component_name(index, name);
    check_subfolder(index, name, source->subfolder);
    const fs::path place = place_of(folder.path, *source, find);
    if (place.empty()) {
      folder.elsewhere[name] = source->repository;
      continue;
    }
    source->class_name = tokenizer_class_in(place, name, source->class_name, configs);
    entry = {source->library, source->class_name};
    add(folder, index, {name, source->library, source->class_name, place, {}, Json::object()},
        configs);
  }
}

}  // namespace

const ComponentFolder* PipelineFolder::find(const std::string& component) const {
  auto it = components.find(component);
  return it == components.end() ? nullptr : &it->second;
}

bool is_pipeline_folder(const fs::path& path) {
  return is_file(path / usual_index) || is_file(path / modular_index);
}

PipelineFolder read_pipeline_folder(const fs::path& path, const FindRepository& find) {
  PipelineFolder folder;
  folder.path = checked_folder(path, "model");
  ConfigFiles configs;
  if (is_file_or_link(folder.path / usual_index)) {
    read_usual(folder, folder.path / usual_index, configs);
  } else if (is_file_or_link(folder.path / modular_index)) {
    read_modular(folder, folder.path / modular_index, find, configs);
  } else {
    throw InvalidRequest({"model", path_text(path), "the folder has no model_index.json",
                          io::fix_of_file(path,
                                          "give a pipeline folder as diffusers' "
                                          "save_pretrained writes it")});
  }
  return folder;
}

// Of no class ("") where no config in it names one, as tokenizers' folders may do.
ComponentFolder read_component_folder(const std::string& name, const fs::path& path) {
  std::string field = "components." + name;
  fs::path folder = checked_folder(path, field);
  if (is_pipeline_folder(folder) && is_folder(folder / name)) folder /= name;
  ComponentFolder component{name, "", "", folder, {}, Json::object()};
  ConfigFiles configs;
  read_config_of(component, configs);
  component.class_name = class_of(component.config);
  return component;
}

}  // namespace omnirt
