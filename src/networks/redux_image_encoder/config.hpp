#pragma once
#include <cstdint>
#include <string>

#include "base/config.hpp"

namespace omnirt {

// config.json of ReduxImageEncoder; defaults are those of diffusers' class.
struct ReduxImageEncoderConfig {
  int64_t redux_dim = 1152;
  int64_t txt_in_features = 4096;

  static void visit(auto& self, auto& v) {
    v("redux_dim", self.redux_dim);
    v("txt_in_features", self.txt_in_features);
    v.only("quantization_config", {});
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
ReduxImageEncoderConfig read_redux_image_encoder_config(const Json& json, const std::string& where);

}  // namespace omnirt
