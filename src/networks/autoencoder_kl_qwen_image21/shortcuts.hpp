#pragma once
#include "runtime/context.hpp"

// The ways around the levels of Qwen-Image 2.1's autoencoder, which have no weights. They are made
// for videos: a level that changes the count of frames takes two of them together, and of a video
// of one frame the one before it is zeros.
namespace omnirt {

// Whether shortened() is implemented for these.
bool shortens(int64_t in, int64_t out, bool halved, bool over_time);
// {B, in, H, W} -> {B, out, H / 2, W / 2}, or H and W where the level is not `halved`: each channel
// of the result is the mean of as many neighbours of the squares of 2x2 pixels, in the order of
// channel, frame, row and column, as there are too many (diffusers QwenImage21AvgDown3D).
Tensor shortened(Context& cx, const Tensor& x, int64_t out, bool halved, bool over_time);

// Whether lengthened() is.
bool lengthens(int64_t in, int64_t out, bool over_time);
// {B, in, H, W} -> {B, out, 2 H, 2 W}: the inverse order, each value repeated as often as there are
// too few, and of two frames the second (diffusers QwenImage21DupUp3D).
Tensor lengthened(Context& cx, const Tensor& x, int64_t out, bool over_time);

}  // namespace omnirt
