#pragma once
#include "base/keys.hpp"

namespace omnirt::guider_keys {

inline constexpr Key<double> true_cfg_scale{
    "true_cfg_scale",
    1.0,
    {0, 100},
    "true-cfg-scale",
    "guidance by the negative prompt, beside the guidance scale that the network itself takes: "
    "more than 1 asks it twice a step"};

}  // namespace omnirt::guider_keys
