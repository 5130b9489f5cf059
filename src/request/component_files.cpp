#include "request/component_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "io/sharded.hpp"
#include "weights/single_file_kind.hpp"

namespace omnirt {

namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

// Those whose names begin so, without it.
Shapes below(const Shapes& shapes, const std::string& prefix) {
  if (prefix.empty()) return shapes;
  Shapes found;
  for (const auto& [name, shape] : shapes) {
    if (name.starts_with(prefix)) found[name.substr(prefix.size())] = shape;
  }
  return found;
}

// What a file was recognised as.
struct Told {
  Json config;
  std::string layout;  // "": the network's own names
  std::string prefix;
};

constexpr size_t max_embedded_config = size_t{1} << 20;  // bytes; real ones take 2 KB

// What this program wrote with the tensors (single_file_configs), which are in the layout that
// their names are of, else in the network's first; nothing where the file is another program's, or
// holds more than one component.
std::optional<Told> told_by_metadata(const Catalogue& catalogue, const io::FileMetadata& metadata,
                                     const Shapes& shapes, const std::filesystem::path& path) {
  auto it = metadata.find(single_file_configs);
  if (it == metadata.end()) return std::nullopt;
  std::string where = fmt::format("{} (metadata {})", path.string(), single_file_configs);
  Json embedded = parse_json(it->second, where, max_embedded_config);
  Json configs = embedded.is_object() ? embedded.value("configs", Json()) : Json();
  if (!configs.is_object() || configs.size() != 1) return std::nullopt;
  const Json& config = configs.front();
  Json named = config.is_object() ? config.value("_class_name", Json()) : Json();
  const nn::NetworkInfo* info =
      named.is_string() ? catalogue.find_network(named.get<std::string>()) : nullptr;
  if (!info)
    throw InvalidFile({where, shown(named), "_class_name is no network of this build's", ""});
  auto layouts = info->make(config, where)->original_layouts();
  if (layouts.empty())
    throw InvalidFile({where, info->class_name, "the network has no original layout", ""});
  const auto& layout_of = info->from_tensors.layout;
  return Told{config, layout_of ? layout_of(shapes) : layouts.front().name, ""};
}

Told told_by(const Catalogue& catalogue, const Shapes& shapes, const std::string& field,
             const std::filesystem::path& path) {
  std::vector<std::string> known;
  for (const nn::NetworkInfo& info : catalogue.networks) {
    if (!info.from_tensors.config) continue;
    for (const std::string& prefix : info.from_tensors.prefixes) {
      const nn::FromTensors& tells = info.from_tensors;
      const Shapes inside = below(shapes, prefix);
      Json config = tells.config(inside, field);
      if (!config.is_null()) return {config, tells.layout ? tells.layout(inside) : "", prefix};
    }
    known.push_back(info.from_tensors.signs);
  }
  const TensorShapes facts(shapes);
  const io::FileMetadata none;
  const std::string seen = recognise_foreign({facts, none});
  throw InvalidRequest({field, path.string(),
                        fmt::format("a file{}, and not of {}", seen.empty() ? "" : " of " + seen,
                                    fmt::join(known, " or ")),
                        "give a component's folder, with its config.json"});
}

}  // namespace

std::optional<ComponentFolder> read_component_file(const Catalogue& catalogue,
                                                   const std::string& name,
                                                   const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  io::TensorFiles files = io::TensorFiles::open_file(path);
  Shapes shapes;
  for (const std::string& tensor : files.names()) shapes[tensor] = files.find(tensor)->entry->shape;
  auto own = told_by_metadata(catalogue, files.files().front()->metadata(), shapes, path);
  Told told = own ? *own : told_by(catalogue, shapes, "components." + name, path);
  auto file = std::filesystem::absolute(path, error).lexically_normal();
  std::optional<OriginalPart> original;
  if (!told.layout.empty()) original = OriginalPart{file, told.prefix, told.layout};
  return ComponentFolder{.name = name,
                         .library = "",
                         .class_name = told.config["_class_name"].get<std::string>(),
                         .folder = file,
                         .config_file = path,
                         .config = told.config,
                         .original = original};
}

}  // namespace omnirt
