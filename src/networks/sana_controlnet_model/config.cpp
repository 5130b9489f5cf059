#include "networks/sana_controlnet_model/config.hpp"

namespace omnirt {

SanaControlNetConfig read_sana_controlnet_config(const Json& json, const std::string& where) {
  auto config = read_config<SanaControlNetConfig>(json, where);
  nn::ConfigCheck check(where);
  check_sana_transformer_2d_config(config.transformer, check);
  check.finish();
  return config;
}

}  // namespace omnirt
