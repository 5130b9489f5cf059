#pragma once
#include "blocks/token_controlnet.hpp"

namespace omnirt::blocks {

// What looks at images and the parts that read them, to come before all else: ControlNets,
// T2I-Adapters, IP-Adapters.
BlockList control_checks();
// Those parts themselves, to come right before a loop over a UNet2DConditionModel that is called
// "unet".
BlockList control_steps();
// What those have of their images in a second pass (blocks/hires.hpp), to come before them; where
// `hires` holds.
BlockList hires_controls(const Trigger& hires);
// For a family over a transformer of tokens: what looks at control images and the ControlNets that
// read them, where `when` holds; what encodes the images, to come before what draws the first
// noise; and the ControlNets themselves, to come right before the loop.
BlockList token_control_checks(const Trigger& when = {});
// The same for image prompts and IP-Adapters.
BlockList image_prompt_checks();
BlockList encode_control_images();
BlockList token_controlnets(const TokenControlOptions& options);
// The blocks that settle width and height of a family over a UNet: control images have the
// image's size, as in the reference.
void add_image_sizes(BlockList& list, const Trigger& from_noise, const Trigger& from_image,
                     const Trigger& inpaint);

}  // namespace omnirt::blocks
