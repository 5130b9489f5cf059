#include "networks/qwen_image_controlnet_model/config.hpp"

namespace omnirt {

QwenImageControlNetConfig read_qwen_image_controlnet_config(const Json& json,
                                                            const std::string& where) {
  auto config = read_config<QwenImageControlNetConfig>(json, where);
  nn::ConfigCheck check(where);
  check_qwen_image_transformer_2d_config(config.transformer, check);
  check.expect(!config.transformer.zero_cond_t, "zero_cond_t", "true",
               "a ControlNet looks at no reference images", "give false");
  check.finish();
  return config;
}

}  // namespace omnirt
