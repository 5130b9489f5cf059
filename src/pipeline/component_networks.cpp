#include "pipeline/component_networks.hpp"

#include "base/path_text.hpp"

namespace omnirt {
namespace {

// Larger configs are rare, and what they describe is.
constexpr size_t max_known_config_bytes = size_t{16} << 10;

size_t bytes_of(const Json& config) {
  return config.dump(-1, ' ', false, Json::error_handler_t::replace).size();
}

}  // namespace

std::shared_ptr<const nn::Network> described_network(const Catalogue& catalogue,
                                                     const ComponentFolder& component) {
  const nn::NetworkInfo* info = catalogue.find_network(component.class_name);
  if (!info) return nullptr;
  std::string where =
      component.config_file.empty() ? component.name : path_text(component.config_file);
  return info->make(component.config, where);
}

std::shared_ptr<const nn::Network> KnownNetworks::describe(const Catalogue& catalogue,
                                                           const ComponentFolder& component) {
  const std::string key = component.class_name + "\n" + component.config_file.native();
  auto known = known_.find(key);
  if (known && (*known)->config() == component.config) return *known;
  auto made = described_network(catalogue, component);
  // A network keeps the config that it was made of.
  if (made && made->config() == component.config &&
      bytes_of(component.config) <= max_known_config_bytes)
    known_.keep(key, made);
  return made;
}

Facts usual_facts(const Catalogue& catalogue, const ModelSpec& entry) {
  Facts facts;
  facts.index = entry.usual.index;
  for (const auto& [name, config] : entry.usual.components) {
    ComponentFolder component;
    component.name = name;
    component.config = config;
    component.class_name = config.value("_class_name", std::string());
    facts.components[name] = described_network(catalogue, component);
  }
  return facts;
}

}  // namespace omnirt
