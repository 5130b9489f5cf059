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
    SavedValue::refuse("latents are {images, channels, height, width} in fp32");
  return {values};
}

}  // namespace omnirt

namespace omnirt::families {

void TakeLatents::run(Frame& frame) const {
  const Tensor& values = frame[given].values;
  auto count = static_cast<int64_t>(frame[seeds].size());
  frame[image_latents] = values.repeat({count / values.size(0), 1, 1, 1});
}

void NoiseImageLatentsXL::check(Checks& checks) const {
  // A UNet with mask channels has no latents of the image at full strength.
  if (!inpaints() || !checks.maybe(denoising_start) || checks[strength] < 1.0 ||
      !checks.holds(blocks::has_mask_channels()))
    return;
  checks.error({"config.strength", "1", "denoising_start goes on from the image given",
                "give a strength below 1"});
}

void NoiseImageLatentsXL::run(Frame& frame) const {
  bool goes_on = frame.maybe(denoising_start).has_value();
  if (!goes_on || inpaints()) NoiseImageLatents::run(frame);
  if (goes_on) frame[latents] = frame[image_latents];
}

}  // namespace omnirt::families
