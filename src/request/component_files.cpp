#include "request/component_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/sharded.hpp"
#include "request/network_in_file.hpp"
#include "weights/original_weights.hpp"
#include "weights/single_file_kind.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

// What a file was recognised as.
struct Told {
  std::string class_name;
  Json config;
  std::string layout;  // "": the network's own names
  std::string prefix;
  fs::path config_file{};  // "": the weights' file
};

constexpr size_t max_embedded_config = size_t{1} << 20;  // bytes; real ones take 2 KB

std::string class_of(const Json& config) {
  const Json named = config.is_object() ? config.value("_class_name", Json()) : Json();
  return named.is_string() ? named.get<std::string>() : "";
}

// What a component of this name does, for a model that has none of its own; "" for other names.
std::string role_of(const std::string& name) {
  static constexpr std::array roles{
      std::pair{"unet", "denoiser"},         std::pair{"transformer", "denoiser"},
      std::pair{"vae", "autoencoder"},       std::pair{"text_encoder", "text_encoder"},
      std::pair{"controlnet", "controlnet"}, std::pair{"image_encoder", "image_encoder"},
      std::pair{"ip_adapter", "ip_adapter"}};
  for (const auto& [beginning, role] : roles) {
    if (name.starts_with(beginning)) return role;
  }
  return "";
}

class FileReader {
 public:
  FileReader(const Catalogue& catalogue, const std::string& name, const fs::path& path,
             const WantedComponent& wanted)
      : catalogue_(catalogue),
        name_(name),
        field_("components." + name),
        path_(path),
        wanted_(wanted),
        files_(io::TensorFiles::open_file(path)) {
    for (const std::string& tensor : files_.names())
      shapes_[tensor] = files_.find(tensor)->entry->shape;
    const nn::NetworkInfo* info = catalogue.find_network(wanted.class_name);
    role_ = info ? info->role : role_of(name);
  }

  Told read() const {
    if (auto told = by_metadata()) return std::move(*told);
    if (auto told = by_folder()) return std::move(*told);
    if (auto told = fitting(wanted_.class_name, wanted_.config)) return std::move(*told);
    return by_tensors();
  }

 private:
  // What this program wrote with the tensors (single_file_configs), which are in the layout that
  // their names are of, else in the network's first; nothing where the file is another program's,
  // or holds more than one component.
  std::optional<Told> by_metadata() const {
    const io::FileMetadata& metadata = files_.files().front()->metadata();
    auto it = metadata.find(single_file_configs);
    if (it == metadata.end()) return std::nullopt;
    std::string where = fmt::format("{} (metadata {})", path_text(path_), single_file_configs);
    Json embedded = parse_json(it->second, where, max_embedded_config);
    Json configs = embedded.is_object() ? embedded.value("configs", Json()) : Json();
    if (!configs.is_object() || configs.size() != 1) return std::nullopt;
    const Json& config = configs.front();
    const std::string named = class_of(config);
    const nn::NetworkInfo* info = named.empty() ? nullptr : catalogue_.find_network(named);
    if (!info) {
      throw InvalidFile({where,
                         shown(config.is_object() ? config.value("_class_name", Json()) : config),
                         "_class_name is no network of this build's", ""});
    }
    auto layouts = info->make(config, where)->original_layouts();
    if (layouts.empty())
      throw InvalidFile({where, info->class_name, "the network has no original layout", ""});
    const auto& layout_of = info->from_tensors.layout;
    return Told{named, config, layout_of ? layout_of(shapes_) : layouts.front().name, ""};
  }

  // The network that a config describes, where the file holds it.
  std::optional<Told> fitting(const std::string& class_name, const Json& config) const {
    const nn::NetworkInfo* info = catalogue_.find_network(class_name);
    if (!info || !config.is_object() || config.empty()) return std::nullopt;
    try {
      auto place = network_in_file(*info->make(config, path_text(path_)), shapes_);
      if (!place) return std::nullopt;
      return Told{class_name, config, place->layout, place->prefix};
    } catch (const InvalidRequest&) {
      return std::nullopt;  // no config of such a network
    }
  }

  // A file in a component's folder, whose config is next to it.
  std::optional<Told> by_folder() const {
    std::error_code error;
    const fs::path folder = fs::absolute(path_, error).lexically_normal().parent_path();
    if (!fs::is_regular_file(folder / "config.json", error)) return std::nullopt;
    try {
      const ComponentFolder found = read_component_folder(name_, folder);
      const nn::NetworkInfo* info = catalogue_.find_network(found.class_name);
      const bool another_role = info && !role_.empty() && info->role != role_;
      if (found.folder != folder || another_role) return std::nullopt;
      auto told = fitting(found.class_name, found.config);
      if (told) told->config_file = found.config_file;
      return told;
    } catch (const InvalidRequest&) {
      return std::nullopt;  // the config of something else
    }
  }

  std::optional<Told> by_tensors_of(const nn::NetworkInfo& info) const {
    const nn::FromTensors& tells = info.from_tensors;
    if (!tells.config) return std::nullopt;
    for (const std::string& prefix : tells.prefixes) {
      const ShapesByName inside = shapes_below(shapes_, prefix);
      Json config = tells.config(inside, field_);
      if (!config.is_null())
        return settled(
            info, {class_of(config), config, tells.layout ? tells.layout(inside) : "", prefix});
    }
    return std::nullopt;
  }

  // Classes that do what the model's component does come first: a whole checkpoint's file is one of
  // each of its components.
  Told by_tensors() const {
    for (const bool same_role : {true, false}) {
      for (const nn::NetworkInfo& info : catalogue_.networks) {
        if ((info.role == role_) != same_role) continue;
        if (auto told = by_tensors_of(info)) return std::move(*told);
      }
    }
    refuse();
  }

  // What names and shapes do not say, and the model's own component does.
  Told settled(const nn::NetworkInfo& info, Told told) const {
    const nn::FromTensors& tells = info.from_tensors;
    const bool own = told.layout.empty() || told.layout == own_names;
    for (const std::string& key : tells.from_model) {
      const bool asked = own || !tells.only_own_names;
      if (asked && wanted_.config.is_object() && wanted_.config.contains(key))
        told.config[key] = wanted_.config[key];
    }
    if (tells.needs_first && !told.config.contains(tells.from_model.front())) refuse_unsaid(info);
    if (told.class_name == wanted_.class_name) return told;
    // The same network with a projection.
    auto other = fitting(wanted_.class_name, told.config);
    return other ? std::move(*other) : told;
  }

  [[noreturn]] void refuse_unsaid(const nn::NetworkInfo& info) const {
    throw InvalidRequest(
        {field_, path_text(path_),
         fmt::format("an {0} of one file, which does not say its {1}, and the model has no {0} of "
                     "its own that does",
                     info.role, info.from_tensors.from_model.front()),
         fmt::format("give the {}'s folder, with its config.json", info.role)});
  }

  [[noreturn]] void refuse() const {
    std::vector<std::string> known;
    for (const nn::NetworkInfo& info : catalogue_.networks) {
      if (info.from_tensors.config && (role_.empty() || info.role == role_))
        known.push_back(info.from_tensors.signs);
    }
    const std::string seen = recognise_foreign(TensorShapes(shapes_), catalogue_.networks);
    const std::string holds = seen.empty() ? "" : "it holds " + seen + "; ";
    const std::string reads =
        known.empty() ? "no such component is read without its config.json"
                      : fmt::format("files without a config.json that are read here: {}",
                                    fmt::join(known, "; "));
    throw InvalidRequest({field_, path_text(path_), "not such a component: " + holds + reads,
                          "give a component's folder, with its config.json"});
  }

  const Catalogue& catalogue_;
  const std::string& name_;
  std::string field_;
  const fs::path& path_;
  const WantedComponent& wanted_;
  io::TensorFiles files_;
  ShapesByName shapes_;
  std::string role_;  // of the model's own component, or of its name
};

}  // namespace

std::optional<ComponentFolder> read_component_file(const Catalogue& catalogue,
                                                   const std::string& name, const fs::path& path,
                                                   const WantedComponent& wanted) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  Told told = FileReader(catalogue, name, path, wanted).read();
  auto file = fs::absolute(path, error).lexically_normal();
  std::optional<OriginalPart> original;
  if (!told.layout.empty()) original = OriginalPart{file, told.prefix, told.layout};
  return ComponentFolder{.name = name,
                         .library = "",
                         .class_name = told.class_name,
                         .folder = file,
                         .config_file = told.config_file.empty() ? path : told.config_file,
                         .config = told.config,
                         .original = original};
}

}  // namespace omnirt
