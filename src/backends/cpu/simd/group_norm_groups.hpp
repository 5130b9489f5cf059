#pragma once
#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/group_norm.hpp"

namespace omnirt::cpu {

// y = (x - mean) * scale + shift, for some consecutive channels.
struct ChannelTerms {
  float* mean;
  float* scale;
  float* shift;
};

// Sums of x - near and of its square over the pixels of a sample, for the same channels.
struct ChannelSums {
  const float* near;
  const double* sum;
  const double* squares;
};

// From sums to terms for channels [first, first + count), whole groups. weight and bias are those
// of the whole layer, or null. `centred`: with the mean subtracted first; else mean is left as it
// is and y = x * scale + shift.
void finish_groups(const GroupNormShape& shape, int64_t first, int64_t count,
                   const ChannelSums& sums, const float* weight, const float* bias, bool centred,
                   const ChannelTerms& terms);

// Pixels whose sums are gathered together: a number that follows from the sample alone, so that
// threads and batch change no bit; at most 64 chunks a sample.
int64_t chunk_pixels(int64_t pixels);

// Channels that one thread takes alone through an image of one chunk, which then comes from memory
// once for sums and normalisation: whole groups, whole cache lines. (In larger images such slices
// lose to chunks of pixels: writing a part of each row of a tensor that is not in the cache costs
// more than reading whole rows twice.)
int64_t slice_channels(const GroupNormShape& shape);

}  // namespace omnirt::cpu
