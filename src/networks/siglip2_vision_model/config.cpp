#include "networks/siglip2_vision_model/config.hpp"

#include <cmath>

#include "nn/blocks/siglip_encoder.hpp"

namespace omnirt {

int64_t Siglip2VisionConfig::grid_side() const {
  return std::lround(std::sqrt(static_cast<double>(num_patches)));
}

Siglip2VisionConfig read_siglip2_vision_config(const Json& json, const std::string& where) {
  auto config = read_config<Siglip2VisionConfig>(json, where);
  nn::ConfigCheck check(where);
  nn::check_siglip_layers(check, config);
  check.range("num_patches", config.num_patches, 1, 1 << 20);
  if (check.ok()) {
    check.expect(config.grid_side() * config.grid_side() == config.num_patches, "num_patches",
                 std::to_string(config.num_patches), "position embeddings must be a square");
  }
  check.finish();
  return config;
}

}  // namespace omnirt
