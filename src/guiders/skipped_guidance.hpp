#pragma once
#include <vector>

#include "base/keys.hpp"

namespace omnirt::guider_keys {

inline constexpr Key<std::vector<int64_t>> skip_guidance_layers{
    "skip_guidance_layers",
    std::monostate{},
    {0, 1024},
    "skip-guidance-layers",
    "numbers of the transformer blocks that one more prediction leaves out, to lead away from it: "
    "7,8,9 suit Stable Diffusion 3.5 medium"};
inline constexpr Key<double> skip_layer_guidance_scale{
    "skip_layer_guidance_scale",
    2.8,
    {0, 100},
    "skip-layer-guidance-scale",
    "how strongly the prediction without skip_guidance_layers is avoided"};
inline constexpr Key<double> skip_layer_guidance_start{
    "skip_layer_guidance_start",
    0.01,
    {0, 1},
    "skip-layer-guidance-start",
    "fraction of the run after which skip_guidance_layers are left out"};
inline constexpr Key<double> skip_layer_guidance_stop{"skip_layer_guidance_stop",
                                                      0.2,
                                                      {0, 1},
                                                      "skip-layer-guidance-stop",
                                                      "fraction of the run at which that ends"};

}  // namespace omnirt::guider_keys
