#pragma once
#include <string>
#include <vector>

#include "nn/network.hpp"

namespace omnirt::nn {

// What a network class declares of itself; the metadata's rows, with what each means and what to
// set, are made from it and from what the class does: its original layouts, what it says
// of adapters, its step cache's branches, its inputs. A feature that is not declared is off.
struct NetworkFeatures {
  std::vector<std::string> no_split_modules{};
  std::vector<std::string> skip_layerwise_casting_patterns{};
  std::vector<std::string> repeated_blocks{};
};

// The names are the class's own, whatever the config: a block that a config leaves out is still
// named. Each must be in the tree that some config makes.
Metadata feature_metadata(const Network& network, const NetworkFeatures& features);

// A row's value for people: True, a list, or "none".
std::string shown_value(const Json& value);

// The class names in a tree, each once, sorted; plain layers and lists have none.
std::vector<std::string> module_classes(const Module& root);

}  // namespace omnirt::nn
