#include "engine/describe_networks.hpp"

#include <filesystem>

#include "base/nearest.hpp"
#include "base/path_text.hpp"
#include "request/model_search.hpp"
#include "request/single_file.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

Json describe(const nn::NetworkInfo& info, const std::string& component, const Json& config,
              const std::string& where) {
  auto network = info.make(config, where);
  nn::Metadata metadata = network->metadata();
  Json rows = Json::array();
  for (const nn::Metadata::Row& row : metadata.items())
    rows.push_back({{"key", row.key}, {"value", row.value}, {"what", row.what}});
  std::string title =
      component.empty() ? info.class_name : component + " (" + info.class_name + ")";
  return {{"component", component},
          {"class", info.class_name},
          {"metadata", rows},
          {"table", metadata.describe(title)},
          {"verbose_table", metadata.describe(title, true)}};
}

Json describe_folder(const Catalogue& catalogue, const PipelineFolder& folder) {
  Json all = Json::array();
  for (const auto& [name, component] : folder.components) {
    const nn::NetworkInfo* info = catalogue.find_network(component.class_name);
    if (info)
      all.push_back(describe(*info, name, component.config, path_text(component.config_file)));
  }
  return all;
}

}  // namespace

Json describe_networks(const Catalogue& catalogue, const std::string& class_or_path) {
  if (const nn::NetworkInfo* info = catalogue.find_network(class_or_path))
    return Json::array({describe(*info, "", Json::object(), class_or_path)});
  std::error_code error;
  if (!fs::exists(class_or_path, error)) {
    std::vector<std::string> known;
    for (const nn::NetworkInfo& each : catalogue.networks) known.push_back(each.class_name);
    throw InvalidRequest({"path", class_or_path, "neither a network class of this build nor a path",
                          suggest(class_or_path, known)});
  }
  if (fs::is_regular_file(class_or_path, error))
    return describe_folder(catalogue, open_single_file(catalogue, class_or_path).folder);
  if (is_pipeline_folder(class_or_path))
    return describe_folder(catalogue, open_pipeline_folder(class_or_path));
  fs::path path = fs::path(class_or_path).lexically_normal();
  std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  ComponentFolder component = read_component_folder(name, class_or_path);
  const nn::NetworkInfo* info = catalogue.find_network(component.class_name);
  if (!info) {
    bool named = !component.class_name.empty();
    throw Unsupported(
        {"path", class_or_path,
         named ? "it holds a " + component.class_name + ", which is no network of this build"
               : "the folder has no config.json that names a class",
         ""});
  }
  return Json::array({describe(*info, name, component.config, path_text(component.config_file))});
}

}  // namespace omnirt
