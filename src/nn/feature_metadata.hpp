#pragma once
#include <string>
#include <vector>

#include "nn/network.hpp"

namespace omnirt::nn {

// What a network class declares of itself; the metadata's rows, with what each means and what to
// set, are made from it. A feature that is not declared is off.
struct NetworkFeatures {
  std::vector<std::string> no_split_modules{};
  std::vector<std::string> skip_layerwise_casting_patterns{};
  std::vector<std::string> repeated_blocks{};
  std::vector<std::string> weight_mapping{};  // names of original layouts that can be read
  std::vector<std::string> lora{};            // names of adapter layouts that can be read
  bool cache = false;                         // a DenoiserNetwork with cache_branches
};

// Class names that no module of `network`'s tree has are left out: which blocks there are depends
// on the config.
Metadata feature_metadata(const Network& network, const NetworkFeatures& features);

// The class names in a tree, each once, sorted; plain layers and lists have none.
std::vector<std::string> module_classes(const Module& root);

}  // namespace omnirt::nn
