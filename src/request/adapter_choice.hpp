#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weights/adapters/adapter_file.hpp"

namespace omnirt {

// One adapter of a request, as validation settled it.
struct AdapterChoice {
  std::string field;  // "adapters[0]"
  std::string given;  // the path or id as given
  double scale = 1;
  // Factors on top of it, by a component's name, or that and the path of a block in it:
  // "text_encoder", "unet.up_blocks.1". The longest that fits a layer counts.
  std::map<std::string, double> scales;
  bool beside = false;              // deltas next to the weights, which stay as they are
  std::string component;            // where it goes; "": as the file says
  std::vector<std::string> tokens;  // names for the tokens that it brings
  std::shared_ptr<const adapters::AdapterFile> file;
};

}  // namespace omnirt
