#pragma once
#include "blocks/video_slots.hpp"

namespace omnirt::families::svd_slots {

inline constexpr Slot<Tensor> first_latents{
    "first_latents", "the images' latents", {"n", "C", "H/8", "W/8"}};

}  // namespace omnirt::families::svd_slots
