#include "request/component_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "io/sharded.hpp"

namespace omnirt {

namespace {

Json config_of(const Catalogue& catalogue,
               const std::map<std::string, std::vector<int64_t>>& shapes, const std::string& field,
               const std::filesystem::path& path) {
  std::vector<std::string> known;
  for (const nn::NetworkInfo& info : catalogue.networks) {
    if (!info.from_tensors.config) continue;
    Json config = info.from_tensors.config(shapes, field);
    if (!config.is_null()) return config;
    known.push_back(info.from_tensors.signs);
  }
  throw InvalidRequest({field, path.string(),
                        fmt::format("a file, and not of {}", fmt::join(known, " or ")),
                        "give a component's folder, with its config.json"});
}

}  // namespace

std::optional<ComponentFolder> read_component_file(const Catalogue& catalogue,
                                                   const std::string& name,
                                                   const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  io::TensorFiles files = io::TensorFiles::open_file(path);
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const std::string& tensor : files.names()) shapes[tensor] = files.find(tensor)->entry->shape;
  Json config = config_of(catalogue, shapes, "components." + name, path);
  return ComponentFolder{.name = name,
                         .library = "",
                         .class_name = config["_class_name"].get<std::string>(),
                         .folder = std::filesystem::absolute(path, error).lexically_normal(),
                         .config_file = path,
                         .config = config};
}

}  // namespace omnirt
