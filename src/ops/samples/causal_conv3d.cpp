#include "ops/causal_conv3d.hpp"

#include <fmt/format.h>

#include "ops/samples/sampler.hpp"

namespace omnirt::ops {
namespace {

struct VideoSize {
  int64_t videos, frames, past, in, out, height, width, time, kernel;
  int64_t time_stride = 1;
};

constexpr VideoSize video_sizes[] = {
    {1, 1, 0, 16, 24, 9, 7, 3, 3}, {3, 1, 0, 16, 24, 8, 8, 3, 3},
    {1, 3, 0, 8, 12, 8, 10, 3, 3}, {1, 4, 2, 33, 17, 6, 5, 3, 3},
    {2, 2, 1, 8, 8, 8, 8, 3, 3},   {1, 1, 2, 64, 64, 16, 16, 3, 3},
    {1, 2, 2, 16, 32, 6, 6, 3, 1}, {1, 4, 1, 16, 16, 6, 6, 3, 1, 2},
    {2, 1, 0, 16, 24, 5, 5, 1, 1}};

void use_all(Sampler& make, const VideoSize& size, const Tensor& x,
             const std::function<void(const CausalConv3d&)>& use) {
  Tensor weight = make.weight({size.out, size.in, size.time, size.kernel, size.kernel});
  Tensor bias = make.numbers({size.out});
  Tensor past;
  if (size.past > 0) {
    past =
        in_channels_last(make.numbers({size.videos * size.past, size.in, size.height, size.width}));
  }
  const int64_t around = size.kernel / 2;
  CausalConv3d args{.x = x,
                    .weight = weight,
                    .frames = size.frames,
                    .zeros = size.time_stride > 1 ? 0 : size.time - 1 - size.past,
                    .past = past.defined() ? &past : nullptr,
                    .time_stride = size.time_stride,
                    .padding = {around, around, around, around}};
  use(args);
  args.bias = &bias;
  use(args);
  Tensor residual = in_channels_last(make.numbers(CausalConv3d::shape(args)));
  args.residual = &residual;
  use(args);
}

}  // namespace

Samples<CausalConv3d> CausalConv3d::samples() {
  Samples<CausalConv3d> all;
  for (const VideoSize& size : video_sizes) {
    all.push_back(
        {fmt::format("{} videos of {} frames after {}, {} x {} x {} to {}, kernel {}x{}",
                     size.videos, size.frames, size.past, size.in, size.height, size.width,
                     size.out, size.time, size.kernel),
         [size](Sampler& make, const auto& use) {
           Tensor x = make.numbers({size.videos * size.frames, size.in, size.height, size.width});
           use_all(make, size, in_channels_last(x), use);
         }});
  }
  all.push_back({"not channels last", [](Sampler& make, const auto& use) {
                   use_all(make, video_sizes[2], make.numbers({3, 8, 8, 10}), use);
                 }});
  return all;
}

Samples<LastFrames> LastFrames::samples() {
  return {{"frames of a video", [](Sampler& make, const auto& use) {
             Tensor x = in_channels_last(make.numbers({3, 4, 6, 5}));
             Tensor one = in_channels_last(make.numbers({1, 4, 6, 5}));
             Tensor past = in_channels_last(make.numbers({2, 4, 6, 5}));
             use({.x = x, .count = 2});
             use({.x = one, .past = &past, .count = 2});
             use({.x = one, .count = 2});
           }}};
}

}  // namespace omnirt::ops
