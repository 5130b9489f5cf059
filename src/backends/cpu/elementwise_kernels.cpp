#include <ATen/ops/empty.h>
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
  activate(args.x.const_data_ptr<float>(), args.x.numel(), args.kind, y.mutable_data_ptr<float>());
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

// {B, C, 1, 1} whose channels are contiguous.
bool is_term(const Tensor& term, const Tensor& x) {
  return is_fp32(term) && term.dim() == 4 && term.size(0) == x.size(0) &&
         term.size(1) == x.size(1) && term.size(2) == 1 && term.size(3) == 1 &&
         (term.stride(1) == 1 || term.size(1) == 1);
}

bool is_tokens(const Tensor& x) {
  return is_fp32(x) && x.dim() == 3 && x.numel() > 0 && x.is_contiguous();
}

// {B or 1, 1, D} for tokens {B, T, D}, whose values are contiguous.
bool is_token_term(const Tensor& term, const Tensor& x) {
  return is_fp32(term) && term.dim() == 3 && term.size(1) == 1 && term.size(2) == x.size(2) &&
         (term.stride(2) == 1 || term.size(2) == 1);
}

// Between the terms of two samples: 0 where all share them.
int64_t term_stride(const Tensor& term) {
  return term.size(0) == 1 ? 0 : term.stride(0);
}

bool accepts_modulate(const ops::Modulate& args) {
  const bool channels_first =
      is_channels_last(args.x) && is_term(args.scale, args.x) && is_term(args.shift, args.x);
  const bool tokens =
      is_tokens(args.x) && is_token_term(args.scale, args.x) && is_token_term(args.shift, args.x);
  return (channels_first || tokens) && term_stride(args.scale) == term_stride(args.shift);
}

PixelShape sample_rows(const Tensor& x) {
  return x.dim() == 4 ? pixels_of(x) : PixelShape{x.size(0), x.size(1), x.size(2)};
}

Tensor run_modulate(const ops::Modulate& args) {
  Tensor y = like(args.x);
  modulate(sample_rows(args.x), args.x.const_data_ptr<float>(), args.scale.const_data_ptr<float>(),
           args.shift.const_data_ptr<float>(), term_stride(args.scale),
           y.mutable_data_ptr<float>());
  return y;
}

bool accepts_gate(const ops::Gate& args) {
  return is_tokens(args.x) && is_token_term(args.gate, args.x) &&
         (!args.residual || is_tokens(*args.residual));
}

Tensor run_gate(const ops::Gate& args) {
  Tensor y = like(args.x);
  gate(sample_rows(args.x), args.x.const_data_ptr<float>(), args.gate.const_data_ptr<float>(),
       term_stride(args.gate), data_or_null(args.residual), y.mutable_data_ptr<float>());
  return y;
}

bool accepts_multiply(const ops::Gate& args) {
  return !args.residual && is_dense(args.x) && is_dense(args.gate) &&
         args.x.sizes() == args.gate.sizes() && args.x.strides() == args.gate.strides();
}

Tensor run_multiply(const ops::Gate& args) {
  Tensor y = like(args.x);
  multiply(args.x.const_data_ptr<float>(), args.gate.const_data_ptr<float>(), args.x.numel(),
           y.mutable_data_ptr<float>());
  return y;
}

// Rows at one distance from each other: all that a product holds, or a part of its columns.
bool is_rows(const Tensor& x) {
  if (!is_fp32(x) || x.numel() == 0 || x.dim() < 2 || x.stride(-1) != 1) return false;
  for (int64_t i = 0; i + 2 < x.dim(); ++i)
    if (x.size(i) != 1 && x.stride(i) != x.size(i + 1) * x.stride(i + 1)) return false;
  return true;
}

bool accepts_swiglu(const ops::Swiglu& args) {
  return is_rows(args.x);
}

Tensor run_swiglu(const ops::Swiglu& args) {
  Tensor y = at::empty(ops::Swiglu::shape(args), args.x.options());
  const int64_t width = y.size(-1);
  swiglu(args.x.const_data_ptr<float>(), y.numel() / width, width, args.x.stride(-2),
         y.mutable_data_ptr<float>());
  return y;
}

ImageShape image_shape_of(const Tensor& x) {
  return {x.size(0), x.size(2), x.size(3), x.size(1)};
}

Tensor run_upsample(const ops::UpsampleNearest& args) {
  Tensor y = new_channels_last(ops::UpsampleNearest::shape(args), args.x);
  upsample_nearest(image_shape_of(args.x), args.x.const_data_ptr<float>(), args.height, args.width,
                   y.mutable_data_ptr<float>());
  return y;
}

Tensor run_avg_pool(const ops::AvgPool2d& args) {
  Tensor y = new_channels_last(ops::AvgPool2d::shape(args), args.x);
  avg_pool(image_shape_of(args.x), args.x.const_data_ptr<float>(), args.size,
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
bool accepts_image(const Args& args) {
  return is_channels_last(args.x);
}

}  // namespace

void add_elementwise_kernels(ops::OpTable& table) {
  table.activate.add(kernel("cpu activate", accepts_dense<ops::Activate>, run_activate));
  table.add.add(kernel("cpu add", accepts_add, run_add));
  table.concat.add(kernel("cpu concat", accepts_concat, run_concat));
  table.modulate.add(kernel("cpu modulate", accepts_modulate, run_modulate));
  table.gate.add(kernel("cpu gate", accepts_gate, run_gate));
  table.gate.add(kernel("cpu multiply", accepts_multiply, run_multiply));
  table.swiglu.add(kernel("cpu swiglu", accepts_swiglu, run_swiglu));
  table.upsample_nearest.add(
      kernel("cpu upsample_nearest", accepts_image<ops::UpsampleNearest>, run_upsample));
  table.avg_pool2d.add(kernel("cpu avg_pool2d", accepts_image<ops::AvgPool2d>, run_avg_pool));
  table.soft_clamp.add(kernel("cpu soft_clamp", accepts_dense<ops::SoftClamp>, run_soft_clamp));
  table.affine.add(kernel("cpu affine", accepts_dense<ops::Affine>, run_affine));
}

}  // namespace omnirt::cpu
