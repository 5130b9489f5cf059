#include "networks/redux_image_encoder/config.hpp"

#include "nn/config_check.hpp"

namespace omnirt {

ReduxImageEncoderConfig read_redux_image_encoder_config(const Json& json,
                                                        const std::string& where) {
  auto config = read_config<ReduxImageEncoderConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("redux_dim", config.redux_dim, 1, 1 << 16);
  check.range("txt_in_features", config.txt_in_features, 1, 1 << 17);
  check.finish();
  return config;
}

}  // namespace omnirt
