#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/json.hpp"

namespace omnirt {

// Where an original checkpoint of one file holds a component.
struct OriginalPart {
  std::filesystem::path file;
  std::string prefix;  // "model.diffusion_model."
  std::string layout;  // one of the network's original layouts: "ldm"
  bool operator==(const OriginalPart&) const = default;
};

// One component as a pipeline folder lists it.
struct ComponentFolder {
  std::string name;              // "unet"
  std::string library;           // "diffusers", "transformers"
  std::string class_name;        // "UNet2DConditionModel"; empty where no file of it says
  std::filesystem::path folder;  // where its files are
  std::filesystem::path config_file;
  Json config = Json::object();
  // Of a checkpoint of one file: `folder` is that file, the config comes from names and shapes.
  std::optional<OriginalPart> original{};
  bool operator==(const ComponentFolder&) const = default;
};

// A folder as diffusers' save_pretrained writes it: model_index.json and a folder a component.
// Reading it touches JSON files only.
struct PipelineFolder {
  std::filesystem::path path;
  std::string class_name;  // "StableDiffusionPipeline"
  // Of a modular pipeline as model_index.json would have it: a component's library and class.
  Json index = Json::object();
  std::map<std::string, ComponentFolder> components;  // those that are not null
  // Components that the index or the kind of file lists and that are not here, with the repository
  // that each is in; "" where none is named.
  std::map<std::string, std::string> elsewhere{};

  const ComponentFolder* find(const std::string& component) const;
};

// Where the repository of an id is on this machine; empty where it is not.
using FindRepository = std::function<std::filesystem::path(const std::string& id)>;

// Whether a folder has the index of a pipeline, modular or not.
bool is_pipeline_folder(const std::filesystem::path& path);

// Of a modular pipeline's components those that are in the folder, and those in a repository that
// `find` knows. Throws InvalidRequest / InvalidFile naming the folder or file and what is wrong
// with it.
PipelineFolder read_pipeline_folder(const std::filesystem::path& path,
                                    const FindRepository& find = {});

// A component's folder given on its own: the folder itself, or `<folder>/<name>` of a pipeline
// folder.
ComponentFolder read_component_folder(const std::string& name, const std::filesystem::path& path);

}  // namespace omnirt
