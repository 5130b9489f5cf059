#pragma once
#include "base/json.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {

// The config.json of the UNet that a checkpoint in the ldm layout holds below `prefix`, as far as
// names and shapes show it: levels, layers, depths, widths, and whether an added embedding takes
// size and text. What they don't show is what all published checkpoints of the layout have: groups
// of 32 channels; 8 heads where the projections are convolutions (Stable Diffusion 1.x), heads of
// 64 channels elsewhere. Throws InvalidFile where a tensor that this needs is missing, Unsupported
// for a UNet that this rule does not fit.
Json ldm_unet_config(const TensorShapes& shapes, const std::string& prefix);

// The width of the text that such a UNet reads; 0 where it has no attention to a text.
int64_t ldm_unet_context(const TensorShapes& shapes, const std::string& prefix);

// The config of a UNet in a file of its own, and the size of image that its kind was trained on;
// null for files of other networks, UNets of videos among them.
Json ldm_unet_config_alone(const std::map<std::string, std::vector<int64_t>>& shapes,
                           const std::string& where);

}  // namespace omnirt
