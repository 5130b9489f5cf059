#include "request/single_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "pipeline/model_spec.hpp"
#include "request/model_search.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

constexpr size_t max_embedded_configs = size_t{1} << 20;  // bytes; real ones take 10 KB

// A component's: ["library", "class"], or nulls where there is none.
bool is_entry(const Json& value) {
  return value.is_array() && value.size() == 2;
}

std::string class_in(const Json& index, const std::string& component) {
  if (!index.contains(component)) return "";
  const Json& entry = index.at(component);
  bool named = is_entry(entry) && entry[0].is_string() && entry[1].is_string();
  return named ? entry[1].get<std::string>() : "";
}

class Opener {
 public:
  Opener(const Catalogue& catalogue, fs::path path, const std::string& prediction_type)
      : catalogue_(catalogue),
        path_(std::move(path)),
        files_(io::TensorFiles::open_file(path_)),
        shapes_(files_),
        metadata_(files_.files().front()->metadata()),
        facts_{shapes_, metadata_, Json::object()} {
    metadata_.erase(asked_prediction_type);
    if (!prediction_type.empty()) metadata_[asked_prediction_type] = prediction_type;
  }

  SingleFile open(const fs::path& config_folder) {
    SingleFile opened;
    Json index = read_embedded(opened);
    std::optional<PipelineFolder> given;
    if (!config_folder.empty()) given = read_config_folder(config_folder, opened);
    SingleFileModel model = recognise();
    take_index(index, model);
    opened.kind = model.kind;
    if (opened.decisions.empty()) opened.decisions = model.decisions;
    opened.folder.path = fs::absolute(path_).lexically_normal();
    opened.folder.index = model.index;
    opened.folder.class_name = model.index.value("_class_name", "");
    for (const SingleFileModel::Part& part : model.parts) add_part(model, part, opened);
    if (given) take_parts(*given, opened.folder);
    tell_ignored(model, opened);
    return opened;
  }

 private:
  SingleFileModel recognise() const {
    for (const Family& family : catalogue_.families) {
      for (const SingleFileKind& kind : family.single_files) {
        if (auto model = kind.recognise(facts_)) return std::move(*model);
      }
    }
    std::vector<std::string> known;
    for (const Family& family : catalogue_.families) {
      for (const SingleFileKind& kind : family.single_files) known.push_back(kind.name);
    }
    std::string seen = recognise_foreign(shapes_, catalogue_.networks);
    std::string read =
        fmt::format("checkpoints of one file that are read: {}", fmt::join(known, "; "));
    if (seen.empty() && !shapes_.all().empty())
      seen = fmt::format("nothing that is known here: its first tensor is '{}'",
                         shapes_.all().begin()->first);
    throw Unsupported(
        {"model", path_text(path_),
         "not a complete model: the file holds " + (seen.empty() ? "no tensors" : seen), read});
  }

  // What this program wrote next to the tensors: the configs count; returns the index.
  Json read_embedded(SingleFile& opened) {
    auto it = facts_.metadata.find(single_file_configs);
    if (it == facts_.metadata.end()) return Json::object();
    std::string where = fmt::format("{} (metadata {})", path_text(path_), single_file_configs);
    Json embedded = parse_json(it->second, where, max_embedded_configs);
    Json index = embedded.is_object() ? embedded.value("index", Json()) : Json();
    Json configs = embedded.is_object() ? embedded.value("configs", Json()) : Json();
    if (!index.is_object() || !configs.is_object())
      throw InvalidFile({where, shown(embedded), "objects 'index' and 'configs' are expected", ""});
    for (const auto& [name, config] : configs.items()) {
      if (!config.is_object())
        throw InvalidFile({where, shown(config), "an object is expected for " + name, ""});
    }
    facts_.configs = configs;
    opened.decisions = {{"configs", "", "the file's metadata " + std::string(single_file_configs)}};
    return index;
  }

  [[noreturn]] void refuse_index(const Json& index, const std::string& name,
                                 const std::string& message) const {
    throw InvalidFile(
        {fmt::format("{} (metadata {}): index.{}", path_text(path_), single_file_configs, name),
         shown(index[name]), message, ""});
  }

  // Pipeline class, scheduler and tokenizer as the file's own index has them; networks are what
  // their place in the file says.
  void take_index(const Json& index, SingleFileModel& model) const {
    for (const SingleFileModel::Part& part : model.parts) {
      if (!index.contains(part.component)) continue;
      if (!is_entry(index[part.component]))
        refuse_index(index, part.component, "[\"library\", \"class\"] is expected");
      if (!part.prefix.empty() || class_in(index, part.component).empty()) continue;
      model.index[part.component] = index[part.component];
    }
    if (index.contains("_class_name") && !index["_class_name"].is_string())
      refuse_index(index, "_class_name", "a text is expected");
    for (const auto& [name, value] : index.items()) {
      if (!value.is_array() && !value.is_object()) model.index[name] = value;
    }
  }

  // A component that the kind has and the file does not: something else may be given for it.
  void tell_missing(const SingleFileModel::Part& part, const std::string& class_name,
                    SingleFile& opened) const {
    const nn::NetworkInfo* info = catalogue_.find_network(class_name);
    const bool averages = info->role == "denoiser" && shapes_.any("model_ema.");
    std::string role = info->role;
    std::ranges::replace(role, '_', ' ');
    opened.missing[part.component] = {
        .class_name = class_name,
        .config = part.config,
        .why = averages ? "the file holds only training's averages of the denoiser (model_ema.*), "
                          "not its weights"
                        : fmt::format("the file holds no {} ({})", role, class_name)};
    opened.folder.elsewhere[part.component] = "";
  }

  void add_part(const SingleFileModel& model, const SingleFileModel::Part& part,
                SingleFile& opened) const {
    PipelineFolder& folder = opened.folder;
    const Json& entry = model.index.at(part.component);
    const std::string named = class_in(model.index, part.component);
    if (part.layout.empty() && catalogue_.find_network(named))
      return tell_missing(part, named, opened);
    ComponentFolder component{
        part.component, entry[0].get<std::string>(), named, folder.path, folder.path, part.config};
    if (catalogue_.find_tokenizer(component.class_name)) {
      component.folder = single_file_tokenizer();
      if (component.folder.empty()) return;  // reported as a component that is missing
    }
    component.original = OriginalPart{folder.path, part.prefix, part.layout};
    folder.components.emplace(part.component, std::move(component));
  }

  PipelineFolder read_config_folder(const fs::path& path, SingleFile& opened) {
    PipelineFolder given = open_pipeline_folder(path);
    for (const auto& [name, component] : given.components) facts_.configs[name] = component.config;
    opened.decisions = {{"configs", path_text(path), "config.single_file_config"}};
    return given;
  }

  // Schedulers and tokenizers are the given folder's own; networks have its configs already.
  void take_parts(const PipelineFolder& given, PipelineFolder& folder) const {
    for (const auto& [name, component] : given.components) {
      auto it = folder.components.find(name);
      bool network = it != folder.components.end() && !it->second.original->layout.empty();
      if (network) {
        it->second.config_file = component.config_file;
      } else if (it != folder.components.end() || catalogue_.find_tokenizer(component.class_name)) {
        folder.components.insert_or_assign(name, component);
        folder.index[name] = given.index[name];
      }
    }
  }

  void tell_ignored(const SingleFileModel& model, SingleFile& opened) const {
    std::map<std::string, size_t> kinds;
    for (const auto& [name, shape] : shapes_.all()) {
      auto holds = [&tensor = name](const SingleFileModel::Part& part) {
        return !part.layout.empty() && tensor.starts_with(part.prefix);
      };
      bool taken = std::ranges::any_of(model.parts, holds);
      if (taken) continue;
      std::string kind = leftover_kind(name);
      ++kinds[kind.empty() ? "of no component (" + name.substr(0, name.find('.')) + ")" : kind];
      ++opened.ignored_tensors;
    }
    for (const auto& [kind, count] : kinds)
      opened.ignored += fmt::format("{}{} {}", opened.ignored.empty() ? "" : "; ", count, kind);
  }

  const Catalogue& catalogue_;
  fs::path path_;
  io::TensorFiles files_;
  TensorShapes shapes_;
  io::FileMetadata metadata_;
  SingleFileFacts facts_;
};

}  // namespace

SingleFile open_single_file(const Catalogue& catalogue, const fs::path& path,
                            const fs::path& config_folder, const std::string& prediction_type) {
  return Opener(catalogue, path, prediction_type).open(config_folder);
}

}  // namespace omnirt
