#pragma once
#include <string>
#include <vector>

#include "base/config.hpp"

namespace omnirt {

// config.json of T2IAdapter; defaults are those of the class in diffusers.
struct T2IAdapterConfig {
  int64_t in_channels = 3;
  std::vector<int64_t> channels{320, 640, 1280, 1280};
  int64_t num_res_blocks = 2;
  int64_t downscale_factor = 8;
  std::string adapter_type = "full_adapter";

  static void visit(auto& self, auto& v) {
    v("in_channels", self.in_channels);
    v("channels", self.channels);
    v("num_res_blocks", self.num_res_blocks);
    v("downscale_factor", self.downscale_factor);
    v("adapter_type", self.adapter_type);
    v.only("quantization_config", {});
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
T2IAdapterConfig read_t2i_adapter_config(const Json& json, const std::string& where);

}  // namespace omnirt
