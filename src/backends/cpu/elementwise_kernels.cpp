#include <ATen/ops/empty_like.h>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd/elementwise.hpp"
#include "backends/cpu/tensors.hpp"

namespace omnirt::cpu {
namespace {

// Memory without gaps, in whatever order of dimensions: what a map over all elements needs.
bool is_dense(const Tensor& x) {
  return is_fp32(x) && x.numel() > 0 && x.is_non_overlapping_and_dense();
}

Tensor like(const Tensor& x) {
  return at::empty_like(x, x.options(), at::MemoryFormat::Preserve);
}

bool is_channels_last(const Tensor& x) {
  return is_fp32(x) && x.dim() == 4 && x.numel() > 0 &&
         x.is_contiguous(at::MemoryFormat::ChannelsLast);
}

PixelShape pixels_of(const Tensor& x) {
  return {x.size(0), x.size(2) * x.size(3), x.size(1)};
}

Tensor run_activate(const ops::Activate& args) {
  Tensor y = like(args.x);
  activate(args.x.const_data_ptr<float>(), args.x.numel(), activation(args.kind),
           y.mutable_data_ptr<float>());
  return y;
}

bool accepts_add(const ops::Add& args) {
  return is_dense(args.x) && is_dense(args.other) && args.x.sizes() == args.other.sizes() &&
         args.x.strides() == args.other.strides();
}

Tensor run_add(const ops::Add& args) {
  Tensor y = like(args.x);
  add(args.x.const_data_ptr<float>(), args.other.const_data_ptr<float>(), args.x.numel(),
      static_cast<float>(args.scale), y.mutable_data_ptr<float>());
  return y;
}

bool accepts_concat(const ops::Concat& args) {
  return is_channels_last(args.x) && is_channels_last(args.other);
}

Tensor run_concat(const ops::Concat& args) {
  Tensor y = new_channels_last(ops::Concat::shape(args), args.x);
  concat_rows(args.x.numel() / args.x.size(1), args.x.const_data_ptr<float>(), args.x.size(1),
              args.other.const_data_ptr<float>(), args.other.size(1), y.mutable_data_ptr<float>());
  return y;
}

// {B, C, 1, 1} whose channels lie side by side.
bool is_term(const Tensor& term, const Tensor& x) {
  return is_fp32(term) && term.dim() == 4 && term.size(0) == x.size(0) &&
         term.size(1) == x.size(1) && term.size(2) == 1 && term.size(3) == 1 &&
         (term.stride(1) == 1 || term.size(1) == 1);
}

bool accepts_modulate(const ops::Modulate& args) {
  return is_channels_last(args.x) && is_term(args.scale, args.x) && is_term(args.shift, args.x) &&
         args.scale.stride(0) == args.shift.stride(0);
}

Tensor run_modulate(const ops::Modulate& args) {
  Tensor y = like(args.x);
  modulate(pixels_of(args.x), args.x.const_data_ptr<float>(), args.scale.const_data_ptr<float>(),
           args.shift.const_data_ptr<float>(), args.scale.stride(0), y.mutable_data_ptr<float>());
  return y;
}

PictureShape picture_of(const Tensor& x) {
  return {x.size(0), x.size(2), x.size(3), x.size(1)};
}

Tensor run_upsample(const ops::UpsampleNearest& args) {
  Tensor y = new_channels_last(ops::UpsampleNearest::shape(args), args.x);
  upsample_nearest(picture_of(args.x), args.x.const_data_ptr<float>(), args.height, args.width,
                   y.mutable_data_ptr<float>());
  return y;
}

Tensor run_avg_pool(const ops::AvgPool2d& args) {
  Tensor y = new_channels_last(ops::AvgPool2d::shape(args), args.x);
  avg_pool(picture_of(args.x), args.x.const_data_ptr<float>(), args.size,
           y.mutable_data_ptr<float>());
  return y;
}

Tensor run_soft_clamp(const ops::SoftClamp& args) {
  Tensor y = like(args.x);
  soft_clamp(args.x.const_data_ptr<float>(), args.x.numel(), static_cast<float>(args.bound),
             y.mutable_data_ptr<float>());
  return y;
}

Tensor run_affine(const ops::Affine& args) {
  Tensor y = like(args.x);
  affine(args.x.const_data_ptr<float>(), args.x.numel(), static_cast<float>(args.scale),
         static_cast<float>(args.shift), y.mutable_data_ptr<float>());
  return y;
}

template <class Args>
bool accepts_dense(const Args& args) {
  return is_dense(args.x);
}

template <class Args>
bool accepts_picture(const Args& args) {
  return is_channels_last(args.x);
}

}  // namespace

void add_elementwise_kernels(ops::OpTable& table) {
  table.activate.add(kernel("cpu activate", accepts_dense<ops::Activate>, run_activate));
  table.add.add(kernel("cpu add", accepts_add, run_add));
  table.concat.add(kernel("cpu concat", accepts_concat, run_concat));
  table.modulate.add(kernel("cpu modulate", accepts_modulate, run_modulate));
  table.upsample_nearest.add(
      kernel("cpu upsample_nearest", accepts_picture<ops::UpsampleNearest>, run_upsample));
  table.avg_pool2d.add(kernel("cpu avg_pool2d", accepts_picture<ops::AvgPool2d>, run_avg_pool));
  table.soft_clamp.add(kernel("cpu soft_clamp", accepts_dense<ops::SoftClamp>, run_soft_clamp));
  table.affine.add(kernel("cpu affine", accepts_dense<ops::Affine>, run_affine));
}

}  // namespace omnirt::cpu
