#include "backends/cpu/simd/split_run.hpp"

#include <array>

#include "backends/cpu/simd/thread_team.hpp"

namespace omnirt::cpu {
namespace {

size_t size(int64_t count) {
  return static_cast<size_t>(count);
}

constexpr size_t most_taps = 9;

// Floats that hold this many bf16 values, in whole cache lines.
size_t floats_of(size_t values) {
  return (values + 31) / 32 * 16;
}

size_t temporary_floats(const SplitJob& job, const SplitPlan& plan) {
  return (split_pack_temporary(plan.block_steps * split_step, job.tap_count) + 15) / 16 * 16;
}

// One panel: the value's or the gate's of a unit.
void pack_one(const SplitJob& job, const SplitPlan& plan, int64_t block, int64_t panel,
              float* temporary, uint16_t* to) {
  const int64_t column = panel / job.halves() * split_panel, half = panel % job.halves();
  const int64_t channel = block * plan.block_steps * split_step;
  job.kernels.pack({job.weight, half * job.n + column, std::min(split_panel, job.n - column),
                    channel, std::min(plan.block_steps * split_step, job.channels - channel),
                    job.tap_count, temporary, to});
}

class SplitRun {
 public:
  explicit SplitRun(const SplitJob& job)
      : job_(job),
        plan_(plan_split(job, team_size())),
        // An odd number of lines, lest planes fight for the same sets of a cache.
        plane_(size((plan_.band_rows + job.halo() + split_rows) / 2 * 2 + 1) * split_step),
        step_plane_(size(job.sides()) * plane_) {
    for (int64_t tap = 0; tap < job.tap_count; ++tap) {
      const int64_t apart = static_cast<int64_t>(plane_) / split_step;
      taps_[size(tap)] = job.gathered ? tap * apart : job.taps[tap];
    }
  }

  void run() {
    TeamHold hold;
    const size_t left = floats_of(job_.kernels.parts * size(job_.steps()) * step_plane_);
    const size_t panels = plan_.share_panels && !job_.packed
                              ? floats_of(job_.values(job_.panels(), job_.steps()))
                              : 0;
    float* memory = hold.scratch(left + panels);
    left_ = reinterpret_cast<uint16_t*>(memory);
    shared_ = job_.packed;
    if (panels > 0) {
      auto* made = reinterpret_cast<uint16_t*>(memory + left);
      pack_all_panels(job_, made);
      shared_ = made;
    }
    for (int64_t band = 0; band < plan_.bands; ++band) {
      first_ = band * plan_.band_rows;
      rows_ = std::min(plan_.band_rows, job_.rows - first_);
      split_band();
      parallel_for(plan_.items(), [this](int64_t item, int thread) { piece(item, thread); });
    }
  }

 private:
  struct Piece {
    int64_t row, rows, unit, units;
    uint16_t* panels;  // its own
    float *temporary, *sums;
    size_t sums_stride;
  };

  void split_band() const {
    constexpr int64_t run = 64;
    const int64_t rows = rows_ + job_.halo(), runs = (rows + run - 1) / run;
    parallel_for(runs * job_.sides(), [&](int64_t item, int) {
      SplitInput in[run] = {};
      const int64_t tap = item / runs, row = item % runs * run, count = std::min(run, rows - row);
      job_.source.read(tap, first_ + row, count, in);
      for (int64_t i = 0; i < count; ++i) {
        in[i].count = size(job_.channels);
        in[i].plane = step_plane_;
        in[i].to = left_ + size(tap) * plane_ + (row + i) * split_step;
        job_.kernels.split(in[i]);
      }
    });
  }

  const uint16_t* shared_panel(int64_t block, int64_t panel) const {
    return shared_ + job_.values(job_.panels(), block * plan_.block_steps) +
           job_.values(panel, plan_.steps_of(job_, block));
  }

  void piece(int64_t item, int thread) const {
    const int64_t part = item % plan_.row_pieces, place = item / plan_.row_pieces;
    const int64_t groups = (rows_ + split_rows - 1) / split_rows;
    const int64_t row = groups * part / plan_.row_pieces * split_rows;
    const int64_t end = std::min(rows_, groups * (part + 1) / plan_.row_pieces * split_rows);
    const int64_t unit = job_.units() * place / plan_.unit_pieces;
    const int64_t units = job_.units() * (place + 1) / plan_.unit_pieces - unit;
    if (row >= end || units == 0) return;

    Piece p{row, end - row, unit, units, nullptr, nullptr, nullptr, 0};
    p.sums_stride = size(units * job_.halves() * split_panel) + 16;
    const size_t own =
        plan_.share_panels ? 0 : floats_of(job_.values(units * job_.halves(), plan_.block_steps));
    const size_t temporary = plan_.share_panels ? 0 : temporary_floats(job_, plan_);
    const int64_t sum_rows =
        plan_.blocks > 1 ? (p.rows + split_rows - 1) / split_rows * split_rows : split_rows;
    float* memory = scratch(thread, own + temporary + size(sum_rows) * p.sums_stride);
    p.panels = reinterpret_cast<uint16_t*>(memory);
    p.temporary = memory + own;
    p.sums = p.temporary + temporary;
    job_.kernels.begin();
    for (int64_t block = 0; block < plan_.blocks; ++block) multiply(p, block);
    job_.kernels.end();
  }

  void multiply(const Piece& p, int64_t block) const {
    if (!plan_.share_panels) {
      for (int64_t panel = 0; panel < p.units * job_.halves(); ++panel)
        pack_one(job_, plan_, block, p.unit * job_.halves() + panel, p.temporary,
                 p.panels + job_.values(panel, plan_.steps_of(job_, block)));
    }
    for (int64_t row = 0; row < p.rows; row += split_rows) {
      const int64_t rows = std::min(split_rows, p.rows - row);
      float* sums = p.sums + (plan_.blocks > 1 ? size(row) * p.sums_stride : 0);
      multiply_rows(p, block, row, rows, sums);
      if (block + 1 == plan_.blocks) finish(p, row, rows, sums);
    }
  }

  const uint16_t* panel(const Piece& p, int64_t block, int64_t panel) const {
    if (plan_.share_panels) return shared_panel(block, p.unit * job_.halves() + panel);
    return p.panels + job_.values(panel, plan_.steps_of(job_, block));
  }

  void multiply_rows(const Piece& p, int64_t block, int64_t row, int64_t rows, float* sums) const {
    const uint16_t* left = left_ +
                           job_.kernels.parts * size(block * plan_.block_steps) * step_plane_ +
                           (p.row + row) * split_step;
    for (int64_t index = 0; index < p.units * job_.halves(); ++index) {
      job_.kernels.product({size(rows), left, step_plane_, taps_.data(), size(job_.tap_count),
                            size(plan_.steps_of(job_, block)), panel(p, block, index),
                            sums + index * split_panel, p.sums_stride, block > 0});
    }
  }

  void finish(const Piece& p, int64_t row, int64_t rows, const float* sums) const {
    SplitTarget targets[split_rows];
    job_.source.targets(first_ + p.row + row, rows, targets);
    for (int64_t unit = 0; unit < p.units; ++unit) {
      const int64_t column = (p.unit + unit) * split_panel;
      job_.kernels.finish({targets, size(rows), size(column),
                           size(std::min(split_panel, job_.n - column)),
                           sums + unit * job_.halves() * split_panel, p.sums_stride, job_.bias,
                           job_.bias ? job_.bias + job_.n : nullptr, job_.activation, job_.geglu});
    }
  }

  const SplitJob& job_;
  const SplitPlan plan_;
  const size_t plane_;       // values of a left side's step
  const size_t step_plane_;  // of all sides'
  std::array<int64_t, most_taps> taps_{};
  uint16_t* left_ = nullptr;
  const uint16_t* shared_ = nullptr;
  int64_t first_ = 0, rows_ = 0;  // of the current band
};

}  // namespace

void pack_all_panels(const SplitJob& job, uint16_t* panels) {
  const SplitPlan plan = plan_split(job, 1);
  parallel_for(plan.blocks * job.panels(), [&](int64_t item, int thread) {
    const int64_t block = item / job.panels(), panel = item % job.panels();
    pack_one(job, plan, block, panel, scratch(thread, temporary_floats(job, plan)),
             panels + job.values(job.panels(), block * plan.block_steps) +
                 job.values(panel, plan.steps_of(job, block)));
  });
}

void run_split(const SplitJob& job) {
  if (job.rows > 0 && job.n > 0) SplitRun(job).run();
}

}  // namespace omnirt::cpu
