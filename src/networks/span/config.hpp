#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/config.hpp"

namespace omnirt {

// What a SPAN is made of. Published files bring no config: it is inferred from the names and shapes
// of their tensors. The names are those of the authors' arguments; defaults are the published x4's.
struct SpanConfig {
  int64_t feature_channels = 48;
  int64_t upscale = 4;
  bool norm = true;  // the training data's mean is subtracted, and values are 0..255

  static void visit(auto& self, auto& v) {
    v("feature_channels", self.feature_channels);
    v("upscale", self.upscale);
    v("norm", self.norm);
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
SpanConfig read_span_config(const Json& json, const std::string& where);

// The config of a file that holds tensors of these shapes, with its class's name; null where they
// are none of a SPAN. Throws Unsupported for images of other channels than three.
Json span_config(const std::map<std::string, std::vector<int64_t>>& shapes,
                 const std::string& where);

}  // namespace omnirt
