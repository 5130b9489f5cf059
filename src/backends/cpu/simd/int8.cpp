#include "backends/cpu/simd/int8.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/simd/int8_view.hpp"
#include "backends/cpu/simd/integers.hpp"
#include "backends/cpu/simd/thread_team.hpp"
#include "base/ensure.hpp"

namespace omnirt::cpu {
namespace {

// Bytes of one column that a pass over the inner dimension takes: a panel of 32 such is 20 KB,
// which stays in an L1 cache with the rows that stream by.
constexpr int64_t most_pass = 640;
static_assert(most_pass + int8_inner_step <= int8_longest_slice);
// Rows whose sums and bytes one thread keeps at a time.
constexpr int64_t most_rows = 256, fewer_rows = 128;
// Bytes of rounded rows that all threads share at a time.
constexpr int64_t most_shared = int64_t{16} << 20;
constexpr int64_t most_panels = 16;

size_t floats_of(size_t bytes) {
  return (bytes + sizeof(float) - 1) / sizeof(float);
}

// A run of rounded rows.
struct Rows {
  uint8_t* bytes;
  Int8Row* info;
  Rows from(int64_t row, size_t stride) const {
    return {bytes + static_cast<size_t>(row) * stride, info + row};
  }
};

// Panels of a unit as a pass multiplies them, and the sums of their columns so far.
struct UnitPanels {
  std::array<const int8_t*, 2> halves{};
  const int32_t* sums = nullptr;
};

class Int8Run {
 public:
  explicit Int8Run(const Int8Product& product)
      : product_(product), weight_(product.weight), kernels_(product.kernels) {
    // An odd number of cache lines: the rows of a tile are then in different sets of the cache.
    const size_t lines = static_cast<size_t>(weight_.padded_inner) / 64;
    stride_ = (lines | 1) * 64;
    passes_ = ceil_div(weight_.padded_inner, most_pass);
    unit_ = weight_.unit();
    units_ = weight_.panels / unit_;
    tile_ = kernels_.rows * int8_panel * static_cast<size_t>(unit_);
  }

  void run(float* shared) const {
    if (const int64_t rows = rows_apart())
      run_apart(rows);
    else
      run_shared(shared);
  }

  size_t shared_floats() const { return rows_apart() ? 0 : rows_floats(chunk_rows()); }

 private:
  // Items of work that keep all threads busy to the end.
  static int64_t wanted_items() { return team_size() == 1 ? 1 : 4 * team_size(); }

  // Rows of a block that a thread takes through all phases; 0: too few for that.
  int64_t rows_apart() const {
    for (const int64_t rows : {most_rows, fewer_rows})
      if (ceil_div(product_.m, rows) >= wanted_items()) return rows;
    return 0;
  }

  int64_t chunk_rows() const {
    const int64_t fit = std::max<int64_t>(most_rows, most_shared / static_cast<int64_t>(stride_));
    return ceil_div(product_.m, ceil_div(product_.m, fit));
  }

  // Each thread rounds the rows that it multiplies: they stay in its cache.
  void run_apart(int64_t rows) const {
    const int64_t blocks = ceil_div(product_.m, rows);
    const int64_t panels = std::min(units_, most_panels / unit_);
    parallel_for(blocks, [&](int64_t block, int thread) {
      const int64_t first = product_.m * block / blocks;
      const int64_t count = product_.m * (block + 1) / blocks - first;
      const size_t own = rows_floats(rows) + work_floats(rows, panels);
      float* memory = scratch(thread, own + product_.source->room_floats());
      const Rows held = place_rows(memory, rows);
      for (int64_t r = 0; r < count; ++r) quantize(first + r, held.from(r, stride_), memory + own);
      const int64_t pieces = ceil_div(units_, panels);
      for (int64_t piece = 0; piece < pieces; ++piece)
        multiply(held, count, units_ * piece / pieces, units_ * (piece + 1) / pieces,
                 memory + rows_floats(rows));
    });
  }

  // Few rows: rounded by all threads for all threads, then the weights are shared out as well.
  void run_shared(float* shared) const {
    const int64_t most = chunk_rows(), chunks = ceil_div(product_.m, most);
    const Rows held = place_rows(shared, most);
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const int64_t first = product_.m * chunk / chunks;
      const int64_t count = product_.m * (chunk + 1) / chunks - first;
      parallel_for(ceil_div(count, 8), [&](int64_t item, int thread) {
        float* room = scratch(thread, product_.source->room_floats());
        for (int64_t r = item * 8; r < std::min(count, item * 8 + 8); ++r)
          quantize(first + r, held.from(r, stride_), room);
      });
      multiply_shared(held, count);
    }
  }

  void multiply_shared(const Rows& held, int64_t count) const {
    const int64_t blocks = ceil_div(count, most_rows);
    const int64_t least = ceil_div(units_ * unit_, most_panels);
    const int64_t pieces = std::clamp(ceil_div(wanted_items(), blocks), least, units_);
    parallel_for(blocks * pieces, [&](int64_t item, int thread) {
      const int64_t block = item % blocks, piece = item / blocks;
      const int64_t first = count * block / blocks, last = count * (block + 1) / blocks;
      multiply(held.from(first, stride_), last - first, units_ * piece / pieces,
               units_ * (piece + 1) / pieces,
               scratch(thread, work_floats(most_rows, ceil_div(units_, pieces))));
    });
  }

  void quantize(int64_t row, const Rows& to, float* room) const {
    const size_t inner = static_cast<size_t>(weight_.inner);
    *to.info = product_.source->quantize(row, to.bytes, room);
    std::memset(to.bytes + inner, 0, stride_ - inner);
  }

  // A product call may read (and ignore) a whole tile of rows from any row on.
  size_t rows_bytes(int64_t rows) const {
    return (static_cast<size_t>(rows) + kernels_.rows) * stride_;
  }
  size_t rows_floats(int64_t rows) const {
    const size_t info = static_cast<size_t>(rows) * sizeof(Int8Row);
    return floats_of(rows_bytes(rows) + (info + 63) / 64 * 64);
  }
  Rows place_rows(float* memory, int64_t rows) const {
    uint8_t* bytes = reinterpret_cast<uint8_t*>(memory);
    return {bytes, reinterpret_cast<Int8Row*>(bytes + rows_bytes(rows))};
  }

  size_t blocks_of(int64_t rows) const {
    return (static_cast<size_t>(rows) + kernels_.rows - 1) / kernels_.rows;
  }
  // With one pass a tile is finished at once; else the sums of all tiles are kept between passes.
  size_t sums_floats(int64_t rows, int64_t units) const {
    return tile_ * (passes_ == 1 ? 1 : blocks_of(rows) * static_cast<size_t>(units));
  }
  // And, of a file's panels, those of one unit laid out and the sums of all.
  size_t panels_floats() const {
    return weight_.packed() ? 0 : floats_of(int8_panel * int8_longest_slice * 2);
  }
  size_t work_floats(int64_t rows, int64_t units) const {
    const size_t columns = static_cast<size_t>(units * unit_) * int8_panel;
    return sums_floats(rows, units) + panels_floats() + (weight_.packed() ? 0 : columns);
  }

  // Rows [0, count) by panel units [first, last).
  void multiply(const Rows& held, int64_t count, int64_t first, int64_t last, float* memory) const {
    int32_t* sums = reinterpret_cast<int32_t*>(memory);
    float* room = memory + sums_floats(count, last - first);
    if (kernels_.begin) kernels_.begin();
    for (int64_t pass = 0; pass < passes_; ++pass)
      for (int64_t unit = first; unit < last; ++unit) {
        const size_t tiles =
            passes_ == 1 ? 0 : static_cast<size_t>(unit - first) * blocks_of(count);
        multiply_unit(held, count, pass, unit, panels_of(pass, unit, unit - first, room),
                      sums + tiles * tile_);
      }
    if (kernels_.end) kernels_.end();
  }

  // The bytes of each column that a pass takes.
  std::array<size_t, 2> slice_of(int64_t pass) const {
    const int64_t steps = weight_.padded_inner / static_cast<int64_t>(int8_inner_step);
    return {static_cast<size_t>(steps * pass / passes_) * int8_inner_step,
            static_cast<size_t>(steps * (pass + 1) / passes_) * int8_inner_step};
  }

  // `room` is panels_floats() and the sums of the units' columns, of which this is the place-th.
  UnitPanels panels_of(int64_t pass, int64_t unit, int64_t place, float* room) const {
    const auto [from, to] = slice_of(pass);
    const auto columns = int8_panel * static_cast<size_t>(unit_);
    int8_t* bytes = reinterpret_cast<int8_t*>(room);
    int32_t* sums =
        reinterpret_cast<int32_t*>(room + panels_floats()) + static_cast<size_t>(place) * columns;
    UnitPanels made{{},
                    weight_.packed() ? weight_.sums + static_cast<size_t>(unit) * columns : sums};
    for (size_t half = 0; half < static_cast<size_t>(unit_); ++half) {
      const int64_t panel = unit * unit_ + static_cast<int64_t>(half);
      int8_t* laid_out = bytes + half * int8_panel * int8_longest_slice;
      if (!weight_.packed())
        int8_lay_out_panel(kernels_, weight_, panel, from, to, laid_out, sums + half * int8_panel);
      made.halves[half] = weight_.packed()
                              ? weight_.data + static_cast<size_t>(panel) * weight_.panel_bytes() +
                                    from * int8_panel
                              : laid_out;
    }
    return made;
  }

  void multiply_unit(const Rows& held, int64_t count, int64_t pass, int64_t unit,
                     const UnitPanels& panels, int32_t* sums) const {
    const bool last = pass + 1 == passes_;
    alignas(64) float bias[2 * int8_panel];
    if (last) load_bias(unit, bias);
    const auto [from, to] = slice_of(pass);
    const size_t blocks = blocks_of(count), rows = static_cast<size_t>(count);
    for (size_t block = 0; block < blocks; ++block) {
      const size_t row = rows * block / blocks, block_rows = rows * (block + 1) / blocks - row;
      const Rows at = held.from(static_cast<int64_t>(row), stride_);
      int32_t* tile = passes_ == 1 ? sums : sums + block * tile_;
      const size_t tile_stride = int8_panel * static_cast<size_t>(unit_);
      for (size_t half = 0; half < static_cast<size_t>(unit_); ++half)
        kernels_.product(block_rows, at.bytes + from, stride_, panels.halves[half], to - from,
                         tile + half * int8_panel, tile_stride, pass > 0);
      if (last) finish(unit, {at.info, block_rows}, {tile, tile_stride}, {bias, panels.sums});
    }
  }

  size_t columns_of(int64_t unit) const {
    const int64_t panel = static_cast<int64_t>(int8_panel);
    return static_cast<size_t>(std::min(panel, weight_.outputs() - unit * panel));
  }

  void load_bias(int64_t unit, float* bias) const {
    std::fill_n(bias, 2 * int8_panel, 0.0f);
    if (!product_.bias) return;
    for (int64_t half = 0; half < unit_; ++half)
      std::copy_n(
          product_.bias + half * weight_.outputs() + unit * static_cast<int64_t>(int8_panel),
          columns_of(unit), bias + half * static_cast<int64_t>(int8_panel));
  }

  struct TileRows {
    const Int8Row* info;
    size_t count;
  };
  struct TileSums {
    const int32_t* sums;
    size_t stride;
  };
  struct TileColumns {
    const float* bias;
    const int32_t* sums;
  };
  void finish(int64_t unit, const TileRows& rows, const TileSums& tile,
              const TileColumns& columns) const {
    const size_t at = static_cast<size_t>(unit * unit_) * int8_panel;
    kernels_.finish({rows.info, rows.count, static_cast<size_t>(unit) * int8_panel,
                     columns_of(unit), tile.sums, tile.stride, columns.sums, weight_.scales + at,
                     columns.bias, product_.activation, weight_.gated});
  }

  const Int8Product& product_;
  const Int8View& weight_;
  const Int8Kernels& kernels_;
  size_t stride_;         // bytes of a rounded row
  int64_t passes_;        // over the inner dimension
  int64_t unit_, units_;  // panels that make one of y; how many of those
  size_t tile_;           // sums of one product call, all halves
};

}  // namespace

size_t int8_shared_floats(const Int8Product& product) {
  return Int8Run(product).shared_floats();
}

void run_int8(const Int8Product& product, float* shared) {
  Int8Run(product).run(shared);
}

}  // namespace omnirt::cpu
