#include "families/qwen_image21/hires.hpp"

namespace omnirt::qwen_image21 {

void HiresSize::check(Checks& checks) const {
  blocks::HiresSize::check(checks);
  const HiresUpscaler by = checks[upscaler];
  if (by != HiresUpscaler::lanczos && by != HiresUpscaler::nearest) return;
  checks.error({"config.hires_upscaler", name_of(by),
                "this model's images have an alpha channel, and are not encoded again",
                "give one that enlarges latents: latent, latent-bicubic, ..."});
}

}  // namespace omnirt::qwen_image21
