#pragma once
#include <optional>
#include <string>

#include "nn/network.hpp"
#include "weights/shapes_below.hpp"

namespace omnirt {

// Where a file of several layouts' names holds a network.
struct NetworkInFile {
  std::string layout;  // "": the network's own names, without a prefix
  std::string prefix;
};

// The place of `network` among the tensors of a file: each of its parameters is there and has its
// size. Checks the network's own names and its original layouts, below each prefix that checkpoints
// put before a component. nullopt if the file holds no such network.
std::optional<NetworkInFile> network_in_file(const nn::Network& network,
                                             const ShapesByName& shapes);

}  // namespace omnirt
