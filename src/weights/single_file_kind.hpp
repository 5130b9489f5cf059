#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/report.hpp"
#include "io/safetensors.hpp"
#include "nn/network.hpp"
#include "weights/pipeline_folder.hpp"
#include "weights/tensor_shapes.hpp"

// Checkpoints of one file: original layouts, recognised by their names and shapes.
namespace omnirt {

// What is known of a file before any weight is read.
struct SingleFileFacts {
  const TensorShapes& shapes;
  const io::FileMetadata& metadata;
  // Configs by component that the file or the request brings: they count, and nothing is derived.
  Json configs = Json::object();

  Json config(const std::string& component, const std::function<Json()>& derive) const {
    return configs.contains(component) ? configs[component] : derive();
  }
};

// What a file was recognised as: the model_index.json and the configs that its folder would have.
struct SingleFileModel {
  std::string kind;  // "Stable Diffusion 1.x"
  Json index;        // model_index.json
  struct Part {
    std::string component;
    Json config;
    std::string prefix, layout;  // of a network; empty for tokenizers and schedulers
  };
  std::vector<Part> parts;
  std::vector<SingleFileDecision> decisions;
};

// A kind of single file that a family reads and writes.
struct SingleFileKind {
  std::string name;  // "Stable Diffusion 1.x, 2.x"
  // nullopt for files of other kinds. Throws InvalidFile or Unsupported for one of this kind that
  // this build cannot take.
  std::function<std::optional<SingleFileModel>(const SingleFileFacts&)> recognise;
  // Where the parts of a folder's pipeline go in a file; empty for pipelines of other kinds.
  // Configs are not filled.
  std::function<std::vector<SingleFileModel::Part>(const PipelineFolder&)> parts_of;
};

// Metadata that the caller adds: what the model predicts, over what the file says.
inline constexpr const char* asked_prediction_type = "omnirt.prediction_type";

// The metadata key under which this program keeps the configs of a model that it wrote into one
// file, as JSON: {"index", "configs"}.
inline constexpr const char* single_file_configs = "omnirt.configs";

// Training's averages and schedules, which no component takes: reported, and left out.
std::string leftover_kind(const std::string& name);

// What a file looks like by its tensors' names ("a Flux transformer", "a LoRA adapter"), by the
// marks of the networks and of files that no network reads; "" where nothing is recognised.
std::string recognise_foreign(const TensorShapes& shapes,
                              std::span<const nn::NetworkInfo> networks);

// What decides between noise and velocity in a file that does not say: metadata (modelspec), marker
// tensors, else `fallback`, with the reason.
SingleFileDecision prediction_type_of(const SingleFileFacts& facts,
                                      const SingleFileDecision& fallback);

}  // namespace omnirt
