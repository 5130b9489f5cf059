#include "ops/causal_conv3d.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv3d.h>

#include <algorithm>

#include "base/ensure.hpp"
#include "ops/conv2d.hpp"
#include "ops/sizes.hpp"

namespace omnirt::ops {

Shape CausalConv3d::shape(const CausalConv3d& args) {
  ensure(args.frames > 0 && args.time_stride > 0 && args.x.size(0) % args.frames == 0,
         "{} rows are not videos of {} frames", args.x.size(0), args.frames);
  const int64_t read = args.zeros + args.past_frames() + args.frames;
  ensure(read >= args.weight.size(2), "a filter of {} frames does not fit {}", args.weight.size(2),
         read);
  auto [left, right, top, bottom] = args.padding;
  const int64_t height = args.x.size(2) + top + bottom - args.weight.size(3) + 1;
  const int64_t width = args.x.size(3) + left + right - args.weight.size(4) + 1;
  ensure(height > 0 && width > 0, "a kernel of {}x{} does not fit padded frames of {}x{}",
         args.weight.size(3), args.weight.size(4), height + args.weight.size(3) - 1,
         width + args.weight.size(4) - 1);
  return {args.videos() * args.frames_made(), args.weight.size(0), height, width};
}

Tensor CausalConv3d::reference(const CausalConv3d& args) {
  // Of an image all but the last frame of the filter meets zeros.
  if (args.frames == 1 && !args.past && args.zeros + 1 == args.weight.size(2)) {
    const Tensor last = args.weight.select(2, args.zeros).contiguous();
    return Conv2d::reference({.x = args.x,
                              .weight = last,
                              .bias = args.bias,
                              .padding = args.padding,
                              .residual = args.residual});
  }
  auto video = [&](const Tensor& rows, int64_t frames) {
    return rows.unflatten(0, {args.videos(), frames}).transpose(1, 2);
  };
  Tensor read = video(args.x, args.frames);
  if (args.past) read = at::cat({video(*args.past, args.past_frames()), read}, 2);
  auto [left, right, top, bottom] = args.padding;
  read = at::constant_pad_nd(read, {left, right, top, bottom, args.zeros, 0});
  auto bias = args.bias ? std::optional<Tensor>(*args.bias) : std::nullopt;
  Tensor y = at::conv3d(read, args.weight.to(read.scalar_type()), bias, {args.time_stride, 1, 1});
  y = y.transpose(1, 2).reshape(shape(args));
  return args.residual ? y.add_(*args.residual) : y;
}

bool CausalConv3d::fits(const CausalConv3d& args) {
  if (args.x.dim() != 4 || args.x.size(0) == 0 || !divides(args.frames, args.x.size(0)) ||
      !has_sizes(args.weight, {any, args.x.size(1), any, any, any}) || args.time_stride <= 0) {
    return false;
  }
  const int64_t time = args.weight.size(2);
  auto [left, right, top, bottom] = args.padding;
  if (args.zeros < 0 || args.zeros >= time || args.weight.size(3) == 0 ||
      args.weight.size(4) == 0 || std::min({left, right, top, bottom}) < 0 ||
      args.x.size(2) + top + bottom < args.weight.size(3) ||
      args.x.size(3) + left + right < args.weight.size(4)) {
    return false;
  }
  if (args.past && (!has_sizes(*args.past, {any, args.x.size(1), args.x.size(2), args.x.size(3)}) ||
                    args.past->size(0) == 0 || !divides(args.videos(), args.past->size(0)))) {
    return false;
  }
  return args.zeros + args.past_frames() + args.frames >= time &&
         absent_or_has_sizes(args.bias, {args.weight.size(0)}) &&
         (!args.residual || has_sizes(*args.residual, shape(args)));
}

Shape LastFrames::shape(const LastFrames& args) {
  Shape shape = args.x.sizes().vec();
  ensure(!shape.empty() && args.count > 0, "the last {} of no frames", args.count);
  shape[0] = std::min(args.count, shape[0] + (args.past ? args.past->size(0) : 0));
  return shape;
}

Tensor LastFrames::reference(const LastFrames& args) {
  const int64_t all = shape(args)[0], of_x = std::min(all, args.x.size(0));
  Tensor last = args.x.narrow(0, args.x.size(0) - of_x, of_x);
  if (of_x == all) return last.clone();
  return at::cat({args.past->narrow(0, args.past->size(0) - (all - of_x), all - of_x), last});
}

bool LastFrames::fits(const LastFrames& args) {
  if (args.x.dim() == 0 || args.count <= 0) return false;
  Shape sizes = args.x.sizes().vec();
  sizes[0] = any;
  return absent_or_has_sizes(args.past, sizes);
}

}  // namespace omnirt::ops
