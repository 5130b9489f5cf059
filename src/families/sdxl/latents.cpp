#include "families/sdxl/latents.hpp"

#include "blocks/check_unet.hpp"
#include "pipeline/checks.hpp"

namespace omnirt::families {

void TakeLatents::run(Frame& frame) const {
  size_t count = frame[seeds].size();
  Tensor all = blocks::latents_per_image(frame[given], static_cast<int64_t>(count));
  auto shape = frame[vae].grid(frame[width], frame[height], count).images();
  std::string fault = blocks::latents_fault(all.sizes().vec(), shape);
  if (!fault.empty()) throw InvalidRequest({"inputs.latents", "", fault, "make the state anew"});
  frame[image_latents] = all;
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
