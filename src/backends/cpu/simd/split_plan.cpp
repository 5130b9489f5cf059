#include "backends/cpu/simd/gemm_product.hpp"
#include "backends/cpu/simd/integers.hpp"
#include "backends/cpu/simd/split_run.hpp"

namespace omnirt::cpu {
namespace {

// The left side of a band stays in the outer cache.
constexpr int64_t band_bytes = int64_t{4} << 20, least_band_rows = 2048;
// Panels packed ahead pay where several pieces would pack the same ones, up to this many bytes.
constexpr int64_t most_shared_bytes = int64_t{24} << 20, least_shared_rows = 1536;
constexpr int64_t sums_bytes = split_panel * static_cast<int64_t>(sizeof(float));

int64_t panel_step_bytes(const SplitJob& job) {
  return static_cast<int64_t>(panel_step_values(job.kernels.parts) * sizeof(uint16_t));
}

int64_t row_step_bytes(const SplitJob& job) {
  return static_cast<int64_t>(job.kernels.parts * sizeof(uint16_t)) * split_step;
}

// Of one part, a panel's and the rows' values stay in the first level cache, for vectors read them
// several times; tiles read them once.
int64_t most_steps_of(const SplitJob& job) {
  return job.tap_count > 1 ? 2 : job.kernels.parts == 1 ? 8 : 12;
}

// Narrow pieces keep their sums in the second level cache, and read all rows again for each piece:
// of one part that takes longer than the products.
int64_t least_units_of(const SplitJob& job) {
  return job.kernels.parts == 1 ? 8 : 1;
}

void cut_bands(const SplitJob& job, SplitPlan& plan) {
  const int64_t most = std::max(
      least_band_rows, band_bytes / (job.steps() * job.sides() * row_step_bytes(job)) / 32 * 32);
  const int64_t rows = std::max<int64_t>(1, job.rows);
  plan.bands = rows <= most + most / 4 ? 1 : ceil_div(rows, most);
  plan.band_rows = round_up(ceil_div(rows, plan.bands), split_rows);
  plan.bands = ceil_div(rows, plan.band_rows);
}

}  // namespace

SplitPlan plan_split(const SplitJob& job, int threads) {
  SplitPlan plan;
  const int64_t most_steps = most_steps_of(job), units = job.units();
  plan.blocks = ceil_div(job.steps(), most_steps);
  plan.block_steps = ceil_div(job.steps(), plan.blocks);
  plan.blocks = ceil_div(job.steps(), plan.block_steps);
  cut_bands(job, plan);
  const int64_t unit_bytes = job.halves() * job.tap_count * panel_step_bytes(job);
  plan.share_panels = job.packed || (job.rows > least_shared_rows &&
                                     units * job.steps() * unit_bytes <= most_shared_bytes);

  // The panels of a block take a third of the second level cache, the sums as much.
  const auto third = static_cast<int64_t>(cache_sizes().l2 / 3);
  int64_t wide = std::clamp<int64_t>(third / (unit_bytes * plan.block_steps), 1, units);
  const int64_t unit_sums = job.halves() * sums_bytes;
  if (!plan.share_panels && plan.blocks > 1)
    wide =
        std::clamp(third / (plan.band_rows * unit_sums), std::min(wide, least_units_of(job)), wide);
  plan.unit_pieces = ceil_div(units, wide);
  plan.row_pieces = 1;
  const int64_t wanted = threads == 1 ? 1 : int64_t{4} * threads;
  if (plan.share_panels) {
    const int64_t tall = std::max<int64_t>(
        128, plan.blocks > 1 ? third / (ceil_div(units, plan.unit_pieces) * unit_sums) : 1024);
    plan.row_pieces = std::max(ceil_div(plan.band_rows, tall), ceil_div(wanted, plan.unit_pieces));
    plan.row_pieces = std::min(plan.row_pieces, ceil_div(plan.band_rows, 4 * split_rows));
    plan.unit_pieces = std::min(units, std::max(plan.unit_pieces, wanted / plan.row_pieces));
  } else {
    plan.unit_pieces = std::min(units, std::max(plan.unit_pieces, wanted));
  }
  return plan;
}

}  // namespace omnirt::cpu
