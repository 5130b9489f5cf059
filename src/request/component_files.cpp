#include "request/component_files.hpp"

#include "base/error.hpp"
#include "io/sharded.hpp"
#include "networks/ip_adapter/config.hpp"

namespace omnirt {

std::optional<ComponentFolder> read_component_file(const std::string& name,
                                                   const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  io::TensorFiles files = io::TensorFiles::open_file(path);
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const std::string& tensor : files.names()) shapes[tensor] = files.find(tensor)->entry->shape;
  std::string field = "components." + name;
  Json config = ip_adapter_config(shapes, field);
  if (config.is_null()) {
    throw InvalidRequest({field, path.string(),
                          "a file, and not of an IP-Adapter (whose tensors are named image_proj.* "
                          "and ip_adapter.*)",
                          "give a component's folder, with its config.json"});
  }
  return ComponentFolder{.name = name,
                         .library = "",
                         .class_name = config["_class_name"].get<std::string>(),
                         .folder = std::filesystem::absolute(path, error).lexically_normal(),
                         .config_file = path,
                         .config = config};
}

}  // namespace omnirt
