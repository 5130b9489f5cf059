#pragma once
#include <string>

#include "nn/qwen_image_transformer_2d_config.hpp"

namespace omnirt {

// config.json of QwenImageControlNetModel; defaults are those of diffusers' class. What it shares
// with the transformer whose blocks it copies is read into that one's config.
struct QwenImageControlNetConfig {
  QwenImageTransformer2DConfig transformer;
  // Of a token of the control image, in addition to its latents' channels: for inpainting, where
  // the image is kept.
  int64_t extra_condition_channels = 0;

  static void visit(auto& self, auto& v) {
    QwenImageTransformer2DConfig::visit(self.transformer, v);
    v("extra_condition_channels", self.extra_condition_channels);
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
QwenImageControlNetConfig read_qwen_image_controlnet_config(const Json& json,
                                                            const std::string& where);

}  // namespace omnirt
