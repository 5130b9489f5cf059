#pragma once
#include "blocks/video_keys.hpp"

// What Stable Video Diffusion is conditioned on.
namespace omnirt::keys {

inline constexpr Key<int64_t> fps{
    "fps", int64_t{7}, {1, 120}, "fps", "frames per second that the motion is made for"};
inline constexpr Key<int64_t> motion_bucket_id{"motion_bucket_id",
                                               int64_t{127},
                                               {0, 1023},
                                               "motion-bucket-id",
                                               "how much moves: more, the higher"};
inline constexpr Key<double> noise_aug_strength{
    "noise_aug_strength",
    0.02,
    {0, 10},
    "noise-aug-strength",
    "noise on the given image: the more, the less the video is like it"};

}  // namespace omnirt::keys
