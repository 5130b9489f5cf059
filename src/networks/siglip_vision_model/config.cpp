#include "networks/siglip_vision_model/config.hpp"

#include "nn/blocks/siglip_encoder.hpp"

namespace omnirt {

SiglipVisionConfig read_siglip_vision_config(const Json& json, const std::string& where) {
  auto config = read_config<SiglipVisionConfig>(json, where);
  nn::ConfigCheck check(where);
  nn::check_siglip_layers(check, config);
  check.range("image_size", config.image_size, 1, 1 << 14);
  check.expect(config.patch_size <= config.image_size, "patch_size",
               std::to_string(config.patch_size), "a patch is larger than image_size");
  check.finish();
  return config;
}

}  // namespace omnirt
