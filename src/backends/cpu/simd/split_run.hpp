#pragma once
#include <algorithm>
#include <cstdint>

#include "backends/cpu/simd/split_kernels.hpp"

// The driver of products of split numbers, and how it cuts them up. Internal.
namespace omnirt::cpu {

// Where the left side's rows come from and the results go.
class SplitSource {
 public:
  virtual ~SplitSource() = default;
  // Rows [row, row + count) of the left side: x (null: zeros), scale, shift and silu of each `in`.
  // `tap` is 0 except for a gathered job.
  virtual void read(int64_t tap, int64_t row, int64_t count, SplitInput* in) const = 0;
  virtual void targets(int64_t row, int64_t count, SplitTarget* targets) const = 0;
};

struct SplitJob {
  const SplitKernels& kernels;
  const SplitSource& source;
  // Results are of rows [0, rows); result r is made of the rows r + tap of the left side.
  int64_t rows = 0;
  const int64_t* taps = nullptr;  // in ascending order, from 0
  int64_t tap_count = 1;
  // Each tap has a left side of its own (taps is null then), where one moved by some rows will not
  // do. Kernels of one part alone.
  bool gathered = false;
  int64_t channels = 0, n = 0;
  WeightView weight;  // [n (2 n with geglu)][channels][taps]
  const float* bias = nullptr;
  Activation activation = Activation::none;
  bool geglu = false;
  const uint16_t* packed = nullptr;  // what pack_all_panels made of the weights; null: nothing

  int64_t halves() const { return geglu ? 2 : 1; }
  int64_t halo() const { return gathered ? 0 : taps[tap_count - 1]; }
  int64_t sides() const { return gathered ? tap_count : 1; }
  int64_t steps() const { return (channels + split_step - 1) / split_step; }
  int64_t units() const { return (n + split_panel - 1) / split_panel; }
  int64_t panels() const { return units() * halves(); }
  size_t values(int64_t panels, int64_t steps) const {
    return static_cast<size_t>(panels * steps * tap_count) * panel_step_values(kernels.parts);
  }
};

// Rows are taken in bands, whose left side is split by all threads and then multiplied in pieces
// `units` panels wide; the inner index runs in blocks of steps. What is summed in which order
// follows from the inner index alone. Packed panels are [block][unit][half][step][tap].
struct SplitPlan {
  int64_t block_steps = 0, blocks = 0;
  int64_t band_rows = 0, bands = 0;
  int64_t unit_pieces = 0, row_pieces = 0;  // of a band
  // All are packed before the pieces begin, or were in an earlier call; else each piece packs its
  // own.
  bool share_panels = false;

  int64_t items() const { return unit_pieces * row_pieces; }
  int64_t steps_of(const SplitJob& job, int64_t block) const {
    return std::min(block_steps, job.steps() - block * block_steps);
  }
};
SplitPlan plan_split(const SplitJob& job, int threads);

// All panels of a job's weights, in job.values(job.panels(), job.steps()).
void pack_all_panels(const SplitJob& job, uint16_t* panels);

void run_split(const SplitJob& job);

}  // namespace omnirt::cpu
