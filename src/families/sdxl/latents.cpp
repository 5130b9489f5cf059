#include "families/sdxl/latents.hpp"

#include "blocks/check_unet.hpp"
#include "pipeline/checks.hpp"

namespace omnirt {

SavedValue ValueCodec<GivenLatents>::save(const GivenLatents& value) {
  return ValueCodec<Tensor>::save(value.values);
}

GivenLatents ValueCodec<GivenLatents>::load(const SavedValue& saved, const Catalogue& catalogue) {
  Tensor values = ValueCodec<Tensor>::load(saved, catalogue);
  if (values.dim() != 4 || values.size(0) < 1 || values.scalar_type() != at::kFloat)
    SavedValue::refuse("latents are {pictures, channels, height, width} in fp32");
  return {values};
}

}  // namespace omnirt

namespace omnirt::families {

void TakeLatents::run(Frame& frame) const {
  const Tensor& values = frame[given].values;
  auto pictures = static_cast<int64_t>(frame[seeds].size());
  frame[image_latents] = values.repeat({pictures / values.size(0), 1, 1, 1});
}

void NoiseImageLatentsXL::check(Checks& checks) const {
  // A UNet with mask channels has no latents of the image at full strength.
  if (!inpaints_ || !checks.maybe(denoising_start) || checks[strength] < 1.0 ||
      !checks.holds(blocks::has_mask_channels()))
    return;
  checks.error({"config.strength", "1", "denoising_start goes on from the image given",
                "give a strength below 1"});
}

void NoiseImageLatentsXL::run(Frame& frame) const {
  const Schedule& walk = frame[schedule];
  if (frame.maybe(denoising_start) && !inpaints_) {
    frame[latents] = frame[image_latents];
    return;
  }
  frame[noise] = frame[noise_source]->randn(
      blocks::latent_shape(frame[vae], frame[seeds].size(), frame[width], frame[height]));
  if (frame.maybe(denoising_start))
    frame[latents] = frame[image_latents];
  else if (inpaints_ && frame[strength] == 1.0)
    frame[latents] = frame[noise] * walk.scheduler->init_noise_sigma();
  else
    frame[latents] = walk.scheduler->add_noise(frame[image_latents], frame[noise], walk.begin);
}

}  // namespace omnirt::families
