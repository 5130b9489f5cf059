#pragma once
#include "base/keys.hpp"

// The config keys that only Stable Diffusion XL has. Sizes are [height, width] and corners
// [top, left], in pixels, as the reference orders them.
namespace omnirt::keys {

inline constexpr double largest_side = 65536;

inline constexpr Key<std::vector<int64_t>> original_size{
    "original_size",
    std::monostate{},
    {1, largest_side},
    "original-size",
    "[height, width] before cropping, a condition of the model; default: the image's own"};
inline constexpr Key<std::vector<int64_t>> crops_coords_top_left{
    "crops_coords_top_left",
    std::monostate{},
    {0, largest_side},
    "crops-coords-top-left",
    "[top, left] of the crop, a condition of the model; default: [0, 0]"};
inline constexpr Key<std::vector<int64_t>> target_size{
    "target_size",
    std::monostate{},
    {1, largest_side},
    "target-size",
    "[height, width] of the image, a condition of the model; default: its own"};
inline constexpr Key<std::vector<int64_t>> negative_original_size{
    "negative_original_size",
    std::monostate{},
    {1, largest_side},
    "negative-original-size",
    "original_size of what guidance leads away from; unset: the same"};
inline constexpr Key<std::vector<int64_t>> negative_crops_coords_top_left{
    "negative_crops_coords_top_left",
    std::monostate{},
    {0, largest_side},
    "negative-crops-coords-top-left",
    "crops_coords_top_left of what guidance leads away from; unset: [0, 0]"};
inline constexpr Key<std::vector<int64_t>> negative_target_size{
    "negative_target_size",
    std::monostate{},
    {1, largest_side},
    "negative-target-size",
    "target_size of what guidance leads away from; unset: the same"};
inline constexpr Key<double> aesthetic_score{"aesthetic_score",
                                             6.0,
                                             {0, 100},
                                             "aesthetic-score",
                                             "the aesthetic score that the refiner is given"};
inline constexpr Key<double> negative_aesthetic_score{"negative_aesthetic_score",
                                                      2.5,
                                                      {0, 100},
                                                      "negative-aesthetic-score",
                                                      "the same of what guidance leads away from"};
inline constexpr Key<bool> force_zeros_for_empty_prompt{
    "force_zeros_for_empty_prompt",
    true,
    {},
    "force-zeros-for-empty-prompt",
    "without a negative prompt, zeros in place of the empty prompt's embeddings; the model says "
    "so"};
inline constexpr Key<double> denoising_end{
    "denoising_end",
    std::monostate{},
    {0, 1},
    "denoising-end",
    "the share of the noise schedule after which denoising ends, for another model to continue"};
inline constexpr Key<double> denoising_start{
    "denoising_start",
    std::monostate{},
    {0, 1},
    "denoising-start",
    "the share of the noise schedule that is walked already: no noise is added to what is given"};

}  // namespace omnirt::keys
