#include "backends/cpu/simd/group_norm.hpp"

#include <algorithm>

#include "backends/cpu/simd/elementwise_activation.hpp"
#include "backends/cpu/simd/group_norm_groups.hpp"
#include "backends/cpu/simd/targets.h"
#include "backends/cpu/simd/thread_team.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/group_norm.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "backends/cpu/simd/group_norm_kernels-inl.h"

#ifndef OMNIRT_CPU_GROUP_NORM_JOB
#define OMNIRT_CPU_GROUP_NORM_JOB
namespace omnirt::cpu {
namespace {

// One call. Without y, only scale and shift {batch, channels} are made.
struct GroupNormJob {
  GroupNormShape shape;
  PixelView<const float> x;
  const float* weight;
  const float* bias;
  Activation activation;
  PixelView<float> y;
  float* scale;
  float* shift;
};

}  // namespace
}  // namespace omnirt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {

void normalise(const GroupNormJob& job, int64_t sample, int64_t first, int64_t count, int64_t pixel,
               int64_t pixels, const ChannelTerms& terms) {
  const float* x = job.x.data + sample * job.x.batch_stride + pixel * job.x.pixel_stride + first;
  float* y = job.y.data + sample * job.y.batch_stride + pixel * job.y.pixel_stride + first;
  with_activation(job.activation, [&](auto kind) {
    normalise_pixels<kind()>(x, job.x.pixel_stride, pixels, static_cast<size_t>(count), terms, y,
                             job.y.pixel_stride);
  });
}

// Where the terms of a sample's channels go: the caller's own arrays, or scratch.
ChannelTerms terms_of(const GroupNormJob& job, int64_t sample, int64_t first, float* own,
                      int64_t count) {
  if (job.y.data != nullptr) return {own, own + count, own + 2 * count};
  const int64_t at = sample * job.shape.channels + first;
  return {own, job.scale + at, job.shift + at};
}

// All pixels of the channels [first, first + count) of a sample, which are one chunk, on one
// thread.
void run_slice(const GroupNormJob& job, int64_t sample, int64_t first, int64_t count,
               float* memory) {
  const GroupNormShape& shape = job.shape;
  const float* x = job.x.data + sample * job.x.batch_stride + first;
  const size_t n = static_cast<size_t>(count);
  double* sums = reinterpret_cast<double*>(memory);
  float *near = memory + 4 * count, *work = near + count, *own = work + 2 * count;
  near_means(x, job.x.pixel_stride, shape.pixels, n, near);
  chunk_sums(x, job.x.pixel_stride, shape.pixels, n, near, work, sums, sums + count);
  const ChannelTerms terms = terms_of(job, sample, first, own, count);
  finish_groups(shape, first, count, {near, sums, sums + count}, job.weight, job.bias,
                job.y.data != nullptr, terms);
  if (job.y.data) normalise(job, sample, first, count, 0, shape.pixels, terms);
}

void run_slices(const GroupNormJob& job, int64_t slice) {
  const int64_t channels = job.shape.channels, slices = (channels + slice - 1) / slice;
  parallel_for(job.shape.batch * slices, [&](int64_t item, int thread) {
    const int64_t first = item % slices * slice;
    run_slice(job, item / slices, first, std::min(slice, channels - first),
              scratch(thread, static_cast<size_t>(10 * slice)));
  });
}

// Threads share out the pixels: all sums first, then, from the last pixels read to the first, the
// normalisation.
void run_chunks(const GroupNormJob& job) {
  const GroupNormShape& shape = job.shape;
  const int64_t channels = shape.channels, chunk = chunk_pixels(shape.pixels);
  const int64_t chunks = (shape.pixels + chunk - 1) / chunk, items = shape.batch * chunks;
  TeamHold hold;
  float* memory = hold.scratch(static_cast<size_t>((4 * items + 4 * shape.batch) * channels));
  double* sums = reinterpret_cast<double*>(memory);
  float* terms = memory + 4 * items * channels;
  const size_t n = static_cast<size_t>(channels);
  parallel_for(items, [&](int64_t item, int thread) {
    const int64_t sample = item / chunks, pixel = item % chunks * chunk;
    const float* x = job.x.data + sample * job.x.batch_stride;
    float* near = scratch(thread, 3 * n);
    near_means(x, job.x.pixel_stride, shape.pixels, n, near);
    double* sum = sums + item * 2 * channels;
    chunk_sums(x + pixel * job.x.pixel_stride, job.x.pixel_stride,
               std::min(chunk, shape.pixels - pixel), n, near, near + n, sum, sum + channels);
    if (pixel == 0) std::copy_n(near, n, terms + sample * 4 * channels);
  });
  const auto sample_terms = [&](int64_t sample) {
    return terms_of(job, sample, 0, terms + (4 * sample + 1) * channels, channels);
  };
  for (int64_t sample = 0; sample < shape.batch; ++sample) {
    double* total = sums + sample * chunks * 2 * channels;
    for (int64_t i = 2 * channels; i < chunks * 2 * channels; ++i) {
      total[i % (2 * channels)] += total[i];
    }
    finish_groups(shape, 0, channels, {terms + sample * 4 * channels, total, total + channels},
                  job.weight, job.bias, job.y.data != nullptr, sample_terms(sample));
  }
  if (job.y.data == nullptr) return;
  parallel_for(items, [&](int64_t item, int) {
    const int64_t last = items - 1 - item, sample = last / chunks, pixel = last % chunks * chunk;
    normalise(job, sample, 0, channels, pixel, std::min(chunk, shape.pixels - pixel),
              sample_terms(sample));
  });
}

void group_norm_kernel(const GroupNormJob& job) {
  if (job.shape.pixels <= chunk_pixels(job.shape.pixels)) {
    run_slices(job, slice_channels(job.shape));
  } else {
    run_chunks(job);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace omnirt::cpu {

HWY_EXPORT(group_norm_kernel);

void group_norm(const GroupNormShape& shape, const PixelView<const float>& x, const float* weight,
                const float* bias, Activation activation, const PixelView<float>& y) {
  if (shape.batch * shape.pixels * shape.channels == 0) return;
  HWY_DYNAMIC_DISPATCH(group_norm_kernel)
  ({shape, x, weight, bias, activation, y, nullptr, nullptr});
}

void group_norm_scale_shift(const GroupNormShape& shape, const PixelView<const float>& x,
                            const float* weight, const float* bias, float* scale, float* shift) {
  if (shape.batch * shape.pixels * shape.channels == 0) return;
  HWY_DYNAMIC_DISPATCH(group_norm_kernel)
  ({shape, x, weight, bias, Activation::none, {nullptr, 0, 0}, scale, shift});
}

}  // namespace omnirt::cpu
#endif
