#pragma once
#include <optional>

#include "io/image_fit.hpp"

// What is done with masks, grey images in which what is repainted is white (references: Pillow's
// ImageFilter.GaussianBlur, diffusers' VaeImageProcessor; bit for bit).
namespace omnirt::io {

// A shape painted in one colour on a transparent layer: then the alpha channel is the mask.
bool mask_is_in_alpha(const Image& mask);
// What a mask says of each pixel, RGB: three equal channels of its alpha, or as it was painted.
Image painted_mask(const Image& mask);

// A Gaussian of this standard deviation in pixels, as three box filters each way (Gwosdek et al.,
// "Theoretical Foundations of Gaussian Convolution by Extended Box Filtering", 2011).
Image gaussian_blur(const Image& grey, double radius);

// The least region that holds all that is not black and `padding` pixels around it, widened to the
// shape of width x height as far as the mask reaches; nothing for a mask that is black everywhere.
std::optional<Region> masked_region(const Image& grey, int64_t width, int64_t height,
                                    int64_t padding);

// `repainted` where the mask is white, `original` where it is black. All of one size; RGB, RGB and
// grey.
Image put_back(const Image& original, const Image& repainted, const Image& grey);

}  // namespace omnirt::io
