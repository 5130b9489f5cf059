#pragma once
#include "base/keys.hpp"

namespace omnirt::pixart {

inline constexpr Key<bool> use_resolution_binning{
    "use_resolution_binning",
    true,
    {},
    "resolution-binning",
    "make the image at the nearest size that the model was trained on, then fit it to the size "
    "that was asked for"};
inline constexpr Key<bool> clean_caption{
    "clean_caption",
    false,
    {},
    "clean-caption",
    "rewrite prompts as captions of the web are cleaned; not implemented: prompts are lower-cased "
    "and stripped, as the reference does where the packages that it cleans with are missing"};

}  // namespace omnirt::pixart
