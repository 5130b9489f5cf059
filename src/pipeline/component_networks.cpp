#include "pipeline/component_networks.hpp"

namespace omnirt {

std::shared_ptr<const nn::Network> described_network(const Catalogue& catalogue,
                                                     const ComponentFolder& component) {
  const nn::NetworkInfo* info = catalogue.find_network(component.class_name);
  if (!info) return nullptr;
  std::string where =
      component.config_file.empty() ? component.name : component.config_file.string();
  return info->make(component.config, where);
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
