#pragma once
#include <cstdint>
#include <vector>

#include "io/image.hpp"
#include "tensor/tensor.hpp"

// Images to go by as autoencoders take them; if nothing else is said, FLUX.2's and FLUX.3's.
namespace omnirt::blocks {

struct Size {
  int64_t height = 0, width = 0;
  bool operator==(const Size&) const = default;
};

// About this many pixels in an image's proportions, its sides multiples of 32 (reference:
// Qwen-Image's calculate_dimensions); a side may be 0.
Size size_of_area(int64_t pixels, int64_t height, int64_t width);

inline constexpr int64_t most_reference_pixels = 1024 * 1024;

// A reference image of this size as it is encoded: where it has more than 1024 * 1024 pixels, of
// about as many as `pixels` (reference: Flux2ImageProcessor._resize_to_target_area,
// Flux3ImageProcessor._resize_if_exceeds_area).
Size limited(Size size, int64_t pixels = most_reference_pixels);
// That, cut down to whole latents of `grid` pixels; a side may be 0.
Size in_whole_latents(Size size, int64_t grid, int64_t pixels = most_reference_pixels);

// In RGB, resized by Lanczos' filter where it is of another size.
io::Image resized(const io::Image& image, Size size);
// The middle of a limited image, in whole latents: {1, 3, H, W} in -1..1.
Tensor middle_of(const io::Image& image, int64_t grid, int64_t pixels = most_reference_pixels);

// {1, h w, C} of each {1, C, h, w}, one after the other.
Tensor tokens_of(const std::vector<Tensor>& latents);

}  // namespace omnirt::blocks
