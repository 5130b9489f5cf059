#include "weights/pipeline_folder.hpp"

#include <fmt/format.h>

#include <fstream>

#include "base/error.hpp"
#include "base/python_json.hpp"
#include "io/file.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

// Real configs take 20 KB and less; as values they take some twenty times their text.
constexpr size_t max_config_bytes = size_t{1} << 20;
constexpr size_t max_pipeline_bytes = 4 * max_config_bytes;
constexpr size_t max_components = 64;

// Reads JSON files, as many as a pipeline's configs may take together.
class ConfigFiles {
 public:
  Json read(const fs::path& file) {
    std::string text = io::read_file(file, max_config_bytes);
    read_ += text.size();
    if (read_ > max_pipeline_bytes) {
      throw InvalidFile({file.string(), fmt::format("{} bytes", text.size()),
                         fmt::format("the configs of one pipeline take more than {} bytes together",
                                     max_pipeline_bytes),
                         ""});
    }
    return parse_python_json(text, file.string(), max_config_bytes);
  }

 private:
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

// The config of a component has a file name that depends on what it is; tokenizers may have none.
// Folders of processors hold a tokenizer, too.
void read_config_of(ComponentFolder& component, ConfigFiles& configs) {
  std::vector<const char*> names{"config.json", "scheduler_config.json", "tokenizer_config.json",
                                 "preprocessor_config.json"};
  if (component.class_name.ends_with("Processor")) std::swap(names.front(), names.back());
  for (const char* name : names) {
    fs::path file = component.folder / name;
    if (!is_file(file)) continue;
    component.config_file = file;
    component.config = configs.read(file);
    if (!component.config.is_object()) {
      throw InvalidFile({file.string(), shown(component.config), "an object is expected", ""});
    }
    return;
  }
}

// A name from model_index.json becomes a folder below the pipeline's: it must lead to one in it.
void check_component_name(const fs::path& index, const std::string& name) {
  if (name.find('/') != std::string::npos || name.find('\\') != std::string::npos || name == ".." ||
      name == "." || name.empty()) {
    throw InvalidFile(
        {index.string(), name, "not a component's name", "names are plain folder names"});
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
        {field, path.string(), "there is no such folder", "check the path, or `omnirt models`"});
  }
  if (!is_folder(path)) {
    throw InvalidRequest(
        {field, path.string(), "a file, where a folder is expected",
         "give a folder as diffusers' save_pretrained writes it, with model_index.json"});
  }
  return fs::absolute(path, error).lexically_normal();
}

// diffusers' modular pipelines, the only form in which some models are published, are blocks named
// in an index of another name.
void refuse_modular(const fs::path& folder) {
  const fs::path index = folder / "modular_model_index.json";
  if (!is_file(index)) return;
  const Json read = ConfigFiles().read(index);
  throw Unsupported(
      {"model", folder.string(),
       fmt::format("modular_model_index.json names the modular pipeline '{}', which is not "
                   "implemented",
                   read.is_object() ? class_of(read) : ""),
       "give a folder with a model_index.json, of a pipeline that `omnirt models` lists"});
}

}  // namespace

const ComponentFolder* PipelineFolder::find(const std::string& component) const {
  auto it = components.find(component);
  return it == components.end() ? nullptr : &it->second;
}

PipelineFolder read_pipeline_folder(const fs::path& path) {
  PipelineFolder folder;
  folder.path = checked_folder(path, "model");
  fs::path index = folder.path / "model_index.json";
  if (!is_file(index)) {
    refuse_modular(folder.path);
    throw InvalidRequest({"model", path.string(), "the folder has no model_index.json",
                          "give a pipeline folder as diffusers' save_pretrained writes it"});
  }
  ConfigFiles configs;
  folder.index = configs.read(index);
  if (!folder.index.is_object())
    throw InvalidFile({index.string(), shown(folder.index), "an object is expected", ""});
  folder.class_name = class_of(folder.index);
  for (const auto& [name, entry] : folder.index.items()) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_string())
      continue;
    check_component_name(index, name);
    if (folder.components.size() == max_components) {
      throw InvalidFile(
          {index.string(), name, fmt::format("more than {} components", max_components), ""});
    }
    ComponentFolder component{name,
                              entry[0].get<std::string>(),
                              entry[1].get<std::string>(),
                              folder.path / name,
                              {},
                              Json::object()};
    if (!is_folder(component.folder)) {
      throw InvalidFile(
          {index.string(), name,
           fmt::format("listed, but there is no folder {}", component.folder.string()),
           "complete the download, or set the entry to [null, null]"});
    }
    read_config_of(component, configs);
    folder.components.emplace(name, std::move(component));
  }
  return folder;
}

// Of no class ("") where no config in it names one, as tokenizers' folders may do.
ComponentFolder read_component_folder(const std::string& name, const fs::path& path) {
  std::string field = "components." + name;
  fs::path folder = checked_folder(path, field);
  if (is_file(folder / "model_index.json") && is_folder(folder / name)) folder /= name;
  ComponentFolder component{name, "", "", folder, {}, Json::object()};
  ConfigFiles configs;
  read_config_of(component, configs);
  component.class_name = class_of(component.config);
  return component;
}

}  // namespace omnirt
