#include <fmt/format.h>

#include <map>

#include "engine/recognise.hpp"
#include "engine/session.hpp"
#include "io/sharded.hpp"
#include "request/model_search.hpp"
#include "weights/pipeline_folder.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

// "double_blocks.3" of "double_blocks.3.img_attn.qkv.weight": up to the first number, or, where
// there is none, without the last part.
std::string layer_of(const std::string& name) {
  for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
    size_t end = name.find_first_not_of("0123456789", dot + 1);
    if (end != dot + 1 && end != name.npos && name[end] == '.') return name.substr(0, end);
  }
  size_t last = name.rfind('.');
  return last == name.npos ? name : name.substr(0, last);
}

Json inspect_tensors(const io::TensorFiles& files, bool list) {
  std::map<std::string, uint64_t> by_dtype;
  std::map<std::string, std::map<std::string, uint64_t>> by_layer;
  uint64_t parameters = 0, memory = 0;
  bool encoded = false;
  Json tensors = Json::array(), paths = Json::array();
  for (const std::string& name : files.names()) {
    const io::TensorEntry& entry = *files.find(name)->entry;
    uint64_t count = 1;
    for (int64_t size : entry.shape) count *= static_cast<uint64_t>(size);
    parameters += count;
    by_dtype[entry.stored_as()] += count;
    ++by_layer[layer_of(name)][entry.stored_as()];
    encoded |= entry.encoding != nullptr;
    memory += entry.encoding ? count * sizeof(float) : entry.bytes;
    if (list)
      tensors.push_back({{"name", name}, {"dtype", entry.stored_as()}, {"shape", entry.shape}});
  }
  for (const auto& file : files.files()) paths.push_back(file->path().native());
  Json json = {{"tensors", files.size()},
               {"parameters", parameters},
               {"parameters_by_dtype", by_dtype},
               {"bytes", files.total_bytes()},
               {"files", paths}};
  if (list) json["entries"] = std::move(tensors);
  if (encoded) {
    json["types_by_layer"] = by_layer;
    json["memory_bytes"] = memory;
  }
  return json;
}

Json inspect_component(const ComponentFolder& component) {
  Json json = {{"name", component.name},
               {"class", component.class_name},
               {"path", component.folder.native()}};
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
  if (!is_pipeline_folder(path)) {
    Json json = inspect_component(read_component_folder(fs::path(path).filename().string(), path));
    json["kind"] = "component folder";
    return json;
  }
  PipelineFolder folder = open_pipeline_folder(path);
  Json components = Json::array();
  for (const auto& [name, component] : folder.components)
    components.push_back(inspect_component(component));
  return {{"path", folder.path.native()},
          {"kind", "pipeline folder"},
          {"class", folder.class_name},
          {"components", components}};
}

}  // namespace omnirt
