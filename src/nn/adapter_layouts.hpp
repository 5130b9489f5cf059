#pragma once
#include <string>
#include <vector>

namespace omnirt::nn {

// What adapter files are called whose layers have the names of a network's original layout.
struct NamedAdapters {
  std::string original;  // the original layout: "flux"
  std::string notation;  // of the keys: "diffusers" or "peft"
  std::string name;      // "bfl"
};

const std::vector<NamedAdapters>& named_adapters();

}  // namespace omnirt::nn
