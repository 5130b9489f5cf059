#include "nn/feature_metadata.hpp"

#include <algorithm>
#include <set>

namespace omnirt::nn {
namespace {

std::vector<std::string> present(const std::vector<std::string>& wanted,
                                 const std::vector<std::string>& classes) {
  std::vector<std::string> found;
  std::ranges::copy_if(wanted, std::back_inserter(found), [&](const std::string& name) {
    return std::ranges::binary_search(classes, name);
  });
  return found;
}

}  // namespace

std::vector<std::string> module_classes(const Module& root) {
  std::set<std::string> names;
  root.visit([&](const Module& module) {
    if (std::string name = module.class_name(); !name.empty()) names.insert(std::move(name));
  });
  return {names.begin(), names.end()};
}

Metadata feature_metadata(const Network& network, const NetworkFeatures& features) {
  std::vector<std::string> classes = module_classes(network);
  return Metadata({
      {"_supports_gradient_checkpointing", false,
       "Recomputing activations in training. This runtime runs inference only."},
      {"_supports_group_offloading", false,
       "Moving groups of modules to the device as they are needed. Off until a plan can do so."},
      {"_no_split_modules", present(features.no_split_modules, classes),
       "Modules that stay on one device as a whole. Set NetworkFeatures::no_split_modules."},
      {"_skip_layerwise_casting_patterns", features.skip_layerwise_casting_patterns,
       "Parts of names whose weights keep the compute dtype when others are stored in a narrower "
       "one. Set NetworkFeatures::skip_layerwise_casting_patterns."},
      {"_repeated_blocks", present(features.repeated_blocks, classes),
       "Blocks that repeat, each run through Context::segment. Set "
       "NetworkFeatures::repeated_blocks."},
      {"_cp_plan", false, "Splitting a sequence over devices. There is no plan for this class."},
      {"_weight_mapping", features.weight_mapping,
       "Original layouts that can be read. Set NetworkFeatures::weight_mapping."},
      {"_lora", features.lora, "Adapter layouts that can be read. Set NetworkFeatures::lora."},
      {"_supports_cache", features.cache,
       "Reusing features between steps (--cache deep). Set NetworkFeatures::cache."},
      {"_supports_ip_adapter", false, "Image prompts. Off for this class."},
  });
}

}  // namespace omnirt::nn
