#include <fmt/format.h>

#include <map>

#include "engine/recognise.hpp"
#include "engine/session.hpp"
#include "io/sharded.hpp"
#include "weights/pipeline_folder.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

Json inspect_tensors(const io::TensorFiles& files, bool list) {
  std::map<std::string, uint64_t> by_dtype;
  uint64_t parameters = 0;
  Json tensors = Json::array(), paths = Json::array();
  for (const std::string& name : files.names()) {
    const io::TensorEntry& entry = *files.find(name)->entry;
    uint64_t count = 1;
    for (int64_t size : entry.shape) count *= static_cast<uint64_t>(size);
    parameters += count;
    by_dtype[std::string(io::common_dtype_name(entry.dtype))] += count;
    if (list)
      tensors.push_back(
          {{"name", name}, {"dtype", io::common_dtype_name(entry.dtype)}, {"shape", entry.shape}});
  }
  for (const auto& file : files.files()) paths.push_back(file->path().string());
  Json json = {{"tensors", files.size()},
               {"parameters", parameters},
               {"parameters_by_dtype", by_dtype},
               {"bytes", files.total_bytes()},
               {"files", paths}};
  if (list) json["entries"] = std::move(tensors);
  return json;
}

Json inspect_component(const ComponentFolder& component) {
  Json json = {{"name", component.name},
               {"class", component.class_name},
               {"path", component.folder.string()}};
  static const std::string bases[] = {"diffusion_pytorch_model", "model"};
  bool has_weights = component.class_name.find("Tokenizer") == std::string::npos &&
                     component.class_name.find("Scheduler") == std::string::npos;
  if (!has_weights) return json;
  try {
    json["weights"] = inspect_tensors(io::TensorFiles::open(component.folder, bases), false);
  } catch (const InvalidRequest& error) {
    json["weights_error"] = error.what();
  }
  return json;
}

}  // namespace

Json inspect(const std::string& path) {
  std::error_code error;
  if (auto own = inspect_own_file(path)) return *own;
  if (!fs::is_directory(path, error)) {
    Json json = {{"path", path}, {"kind", "weights file"}};
    json["weights"] = inspect_tensors(io::TensorFiles::open_file(path), true);
    return json;
  }
  if (!fs::is_regular_file(fs::path(path) / "model_index.json", error)) {
    Json json = inspect_component(read_component_folder(fs::path(path).filename().string(), path));
    json["kind"] = "component folder";
    return json;
  }
  PipelineFolder folder = read_pipeline_folder(path);
  Json components = Json::array();
  for (const auto& [name, component] : folder.components)
    components.push_back(inspect_component(component));
  return {{"path", folder.path.string()},
          {"kind", "pipeline folder"},
          {"class", folder.class_name},
          {"components", components}};
}

}  // namespace omnirt
