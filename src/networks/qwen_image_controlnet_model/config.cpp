#include "networks/qwen_image_controlnet_model/config.hpp"

#include <fmt/format.h>

namespace omnirt {

QwenImageControlNetConfig read_qwen_image_controlnet_config(const Json& json,
                                                            const std::string& where) {
  auto config = read_config<QwenImageControlNetConfig>(json, where);
  nn::ConfigCheck check(where);
  check_qwen_image_transformer_2d_config(config.transformer, check);
  check.expect(!config.transformer.zero_cond_t, "zero_cond_t", "true",
               "a ControlNet looks at no reference images", "give false");
  const int64_t of_mask = config.transformer.patch_area();
  check.expect(config.extra_condition_channels == 0 || config.extra_condition_channels == of_mask,
               "extra_condition_channels", std::to_string(config.extra_condition_channels),
               fmt::format("a mask adds {} to a token, one for each of its latents", of_mask));
  check.finish();
  return config;
}

}  // namespace omnirt
