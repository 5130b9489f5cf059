#include <algorithm>
#include <vector>

#include "backends/cpu/simd/gemm_product.hpp"
#include "backends/cpu/simd/targets.h"
#include "backends/cpu/simd/thread_team.hpp"
#include "base/cancel_scope.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/gemm_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/simd/gemm_epilogue-inl.h"
#include "backends/cpu/simd/micro_kernel-inl.h"
#include "backends/cpu/simd/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {

constexpr size_t line_floats = 16;

// Asks for part `part` of `parts` of a matrix's cache lines: `rows` rows of `row_lines` lines,
// `stride` bytes apart.
HWY_INLINE void ask_for(const char* matrix, size_t rows, size_t row_lines, size_t stride,
                        size_t part, size_t parts) {
  const size_t first = rows * row_lines * part / parts;
  size_t left = rows * row_lines * (part + 1) / parts - first;
  if (left == 0) return;
  const char* line = matrix + first / row_lines * stride;
  for (size_t place = first % row_lines; left > 0; --left) {
    __builtin_prefetch(line + place * 64, 0, 2);
    if (++place == row_lines) place = 0, line += stride;
  }
}

constexpr size_t round_up(size_t value) {
  return (value + line_floats - 1) / line_floats * line_floats;
}

// One product. Panels are `vectors` vectors wide: one, where a second would only hold zeros.
template <size_t vectors>
class GemmRun {
 public:
  static constexpr size_t width = vectors * float_lanes;
  static constexpr size_t most_rows = micro_max_rows(vectors);

  GemmRun(const Product& product, int threads)
      : p_(product),
        few_rows_(product.m <= static_cast<int64_t>(most_rows)),
        inner_(blocks_of(product, few_rows_)),
        plan_(plan_product(product, width, most_rows, threads)),
        halves_(product.epilogue.geglu ? 2 : 1),
        longest_(static_cast<size_t>(inner_.longest())),
        single_(inner_.count() == 1),
        packed_piece_(static_cast<size_t>(threads), -1) {}

  void run() {
    parallel_for(plan_.items(), [this](int64_t item, int thread) { piece(item, thread); });
  }

 private:
  // What a thread works in: parts of its scratch memory.
  struct Memory {
    float *panels, *sums, *rows, *temporary;
  };
  // One piece of work: rows [row, row + rows), panels of columns [unit, unit + units).
  struct Piece {
    size_t row, rows, unit, units;
    int64_t place;
    int thread;
    Memory memory;
  };

  // So that a panel that is used once stays in the first level cache, and whole units of an
  // encoding are widened once. The order of sums is the same for any block where there are no taps.
  static InnerBlocks blocks_of(const Product& product, bool few_rows) {
    InnerBlocks blocks = product.inner;
    if (blocks.taps > 1) return blocks;
    if (few_rows) blocks.step = std::min<int64_t>(blocks.step, 128);
    if (product.weight.type != WeightType::encoded) return blocks;
    const auto unit = static_cast<int64_t>(product.weight.encoded->unit());
    if (blocks.count() > 1) blocks.step = (blocks.step + unit - 1) / unit * unit;
    return blocks;
  }

  // Panels that a thread holds at a time.
  size_t panels_held() const {
    return halves_ * (few_rows_ ? 1 : static_cast<size_t>(plan_.widest()));
  }

  size_t sums_stride() const {
    return single_ ? halves_ * width
                   : static_cast<size_t>(plan_.widest()) * halves_ * width + line_floats;
  }

  Memory memory(int thread) const {
    const size_t panels = p_.packed ? 0 : panels_held() * longest_;
    const size_t sum_rows =
        single_ ? most_rows : static_cast<size_t>(plan_.tallest(p_.m)) + most_rows;
    const size_t parts[] = {round_up(panels * width), round_up(sum_rows * sums_stride()),
                            round_up(most_rows * rows_stride()),
                            round_up(p_.packed ? 0 : pack_temporary(longest_))};
    float* base = scratch(thread, parts[0] + parts[1] + parts[2] + parts[3]);
    return {base, base + parts[0], base + parts[0] + parts[1],
            base + parts[0] + parts[1] + parts[2]};
  }

  size_t rows_stride() const { return round_up(longest_) + line_floats; }

  void piece(int64_t item, int thread) {
    const int64_t place = item / plan_.row_pieces, part = item % plan_.row_pieces;
    const int64_t unit = plan_.units * place / plan_.unit_pieces;
    const int64_t unit_end = plan_.units * (place + 1) / plan_.unit_pieces;
    const int64_t row = p_.m * part / plan_.row_pieces;
    const int64_t row_end = p_.m * (part + 1) / plan_.row_pieces;
    const Piece piece{static_cast<size_t>(row),
                      static_cast<size_t>(row_end - row),
                      static_cast<size_t>(unit),
                      static_cast<size_t>(unit_end - unit),
                      place,
                      thread,
                      memory(thread)};
    for (int64_t block = 0; block < inner_.count(); ++block) inner_block(piece, block);
  }

  void inner_block(const Piece& piece, int64_t block) {
    if (!p_.packed && !few_rows_) pack_block(piece, block);
    for_row_blocks(piece.rows, most_rows, [&](size_t first, size_t rows) {
      check_cancelled();
      row_tile(piece, block, first, rows);
    });
  }

  // With a single inner block, a thread that stays on the same columns keeps its panels.
  void pack_block(const Piece& piece, int64_t block) {
    int64_t& held = packed_piece_[static_cast<size_t>(piece.thread)];
    if (single_ && held == piece.place) return;
    held = piece.place;
    for (size_t unit = 0; unit < piece.units; ++unit) pack_unit(piece, unit, block);
  }

  void pack_unit(const Piece& piece, size_t unit, int64_t block) const {
    const auto column = static_cast<int64_t>((piece.unit + unit) * width);
    const int64_t have = std::min<int64_t>(width, p_.n - column);
    const PanelOrder order{static_cast<size_t>(inner_.size(block)),
                           static_cast<size_t>(inner_.taps)};
    for (size_t half = 0; half < halves_; ++half) {
      pack_panel(p_.weight, static_cast<int64_t>(half) * p_.n + column, have,
                 inner_.first(block) * inner_.taps, order, width, few_rows_, piece.memory.temporary,
                 packed_here(piece, unit, half));
    }
  }

  float* packed_here(const Piece& piece, size_t unit, size_t half) const {
    return piece.memory.panels + ((few_rows_ ? 0 : unit) * halves_ + half) * longest_ * width;
  }

  const float* panel(const Piece& piece, size_t unit, size_t half, int64_t block) const {
    if (!p_.packed) return packed_here(piece, unit, half);
    const auto inner = static_cast<size_t>(inner_.channels * inner_.taps);
    const auto before = static_cast<size_t>(inner_.first(block) * inner_.taps);
    const size_t index = half * static_cast<size_t>(plan_.units) + piece.unit + unit;
    return p_.packed + (index * inner + before) * width;
  }

  // The rows of the left side for one tile; sets their stride.
  const float* left(const Piece& piece, int64_t block, size_t first, size_t rows,
                    size_t& stride) const {
    const size_t row = piece.row + first;
    const int64_t channel = inner_.first(block);
    if (!p_.patches) {
      stride = static_cast<size_t>(p_.x_stride);
      const float* x = p_.x + row * stride + channel;
      if (!same_cache_set(stride * sizeof(float)) || piece.units == 1) return x;
      stride = rows_stride();
      for (size_t r = 0; r < rows; ++r) {
        std::copy_n(x + r * static_cast<size_t>(p_.x_stride), inner_.size(block),
                    piece.memory.rows + r * stride);
      }
      return piece.memory.rows;
    }
    stride = rows_stride();
    p_.patches->gather(p_.patches->self, static_cast<int64_t>(row), static_cast<int64_t>(rows),
                       channel, inner_.size(block), piece.memory.rows,
                       static_cast<int64_t>(stride));
    return piece.memory.rows;
  }

  void row_tile(const Piece& piece, int64_t block, size_t first, size_t rows) const {
    size_t a_stride;
    const float* a = left(piece, block, first, rows, a_stride);
    const size_t stride = sums_stride();
    const auto inner = static_cast<size_t>(inner_.size(block) * inner_.taps);
    for (size_t unit = 0; unit < piece.units; ++unit) {
      ask_for_weights(piece, block, first, rows, unit);
      float* sums = piece.memory.sums;
      if (!single_) sums += first * stride + unit * halves_ * width;
      if (few_rows_ && !p_.packed) pack_unit(piece, unit, block);
      for (size_t half = 0; half < halves_; ++half) {
        micro_product<vectors>(rows, a, a_stride, panel(piece, unit, half, block), width, inner,
                               sums + half * width, stride, block > 0);
      }
      if (block + 1 < inner_.count()) continue;
      const size_t column = (piece.unit + unit) * width;
      const size_t columns = std::min(width, static_cast<size_t>(p_.n) - column);
      finish(p_, {piece.row + first, rows, column, columns}, sums, stride, width);
    }
  }

  // While this tile is computed, its share of the weights of the next inner block is prefetched:
  // they come from far, and packing has nothing else to do while it waits. (The same for the rows
  // of the next tile was slower than without.)
  HWY_INLINE void ask_for_weights(const Piece& piece, int64_t block, size_t first, size_t rows,
                                  size_t unit) const {
    const WeightView& weight = p_.weight;
    if (p_.packed || few_rows_ || block + 1 >= inner_.count()) return;
    if (weight.type == WeightType::encoded) return;  // a fraction of the others' bytes
    const size_t size = weight.type == WeightType::f32 ? sizeof(float) : sizeof(uint16_t);
    const auto stride =
        static_cast<size_t>(weight.row_stride > 0 ? weight.row_stride : weight.columns) * size;
    const size_t row = piece.unit * width;
    const size_t all = std::min(piece.units * width, static_cast<size_t>(p_.n) - row);
    const size_t from = all * first / piece.rows, to = all * (first + rows) / piece.rows;
    const size_t bytes = static_cast<size_t>(inner_.size(block + 1) * inner_.taps) * size;
    const size_t before = static_cast<size_t>(inner_.first(block + 1) * inner_.taps) * size;
    for (size_t half = 0; half < halves_; ++half) {
      const size_t start = (half * static_cast<size_t>(p_.n) + row + from) * stride + before;
      ask_for(static_cast<const char*>(weight.data) + start, to - from, (bytes + 63) / 64, stride,
              unit, piece.units);
    }
  }

  const Product& p_;
  const bool few_rows_;  // no more than a tile's: each panel is used once, as soon as it is packed
  const InnerBlocks inner_;
  const ProductPlan plan_;
  const size_t halves_, longest_;
  const bool single_;
  std::vector<int64_t> packed_piece_;  // the piece along n whose panels each thread holds
};

void product(const Product& p) {
  const int threads = team_size();
  if (p.n <= static_cast<int64_t>(float_lanes)) {
    GemmRun<1>(p, threads).run();
  } else {
    GemmRun<2>(p, threads).run();
  }
}

int64_t packed_width(int64_t n) {
  return n <= static_cast<int64_t>(float_lanes) ? static_cast<int64_t>(float_lanes)
                                                : static_cast<int64_t>(panel_columns);
}

// All panels of `n` rows from `row`, each over the whole inner index.
void pack_all(const WeightView& weight, int64_t row, int64_t n, const InnerBlocks& inner,
              float* panels) {
  const int64_t width = packed_width(n), units = (n + width - 1) / width;
  parallel_for(units, [&](int64_t unit, int thread) {
    float* temporary = scratch(thread, pack_temporary(static_cast<size_t>(inner.longest())));
    float* panel = panels + unit * width * inner.channels * inner.taps;
    for (int64_t block = 0; block < inner.count(); ++block) {
      const PanelOrder order{static_cast<size_t>(inner.size(block)),
                             static_cast<size_t>(inner.taps)};
      const int64_t before = inner.first(block) * inner.taps;
      pack_panel(weight, row + unit * width, std::min(width, n - unit * width), before, order,
                 static_cast<size_t>(width), false, temporary, panel + before * width);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace omnirt::cpu {

HWY_EXPORT(product);
HWY_EXPORT(packed_width);
HWY_EXPORT(pack_all);

void run_product(const Product& p) {
  HWY_DYNAMIC_DISPATCH(product)(p);
}
int64_t width_of_packed(int64_t n) {
  return HWY_DYNAMIC_DISPATCH(packed_width)(n);
}
void pack_panels(const WeightView& weight, int64_t row, int64_t n, const InnerBlocks& inner,
                 float* panels) {
  HWY_DYNAMIC_DISPATCH(pack_all)(weight, row, n, inner, panels);
}

}  // namespace omnirt::cpu
#endif
