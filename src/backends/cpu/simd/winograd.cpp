#include "backends/cpu/simd/winograd.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "backends/cpu/simd/thread_team.hpp"
#include "backends/cpu/simd/winograd_kernels.hpp"
#include "backends/cpu/simd/winograd_plan.hpp"
#include "base/ensure.hpp"

namespace omnirt::cpu {

// One convolution under way: what all its phases share.
struct WinogradRun {
  const WinogradShape& shape;
  ConvInput x;
  ConvWeights weights;
  const float* packed;  // transformed filters, or null
  ConvEpilogue epilogue;
  float* y;
  ConvStrides y_strides;
  WinogradKernels kernels;
  WinogradPlan plan;

  static const float* packed_data(const PackedWinograd& packed, const WinogradShape& shape,
                                  const WinogradKernels& kernels) {
    ensure(packed.in_channels_ == shape.in_channels && packed.out_channels_ == shape.out_channels &&
               packed.floats_ == packed_winograd_floats(packed.form_, shape.in_channels,
                                                        shape.out_channels, kernels),
           "filters packed for {} -> {} channels, used for {} -> {}", packed.in_channels_,
           packed.out_channels_, shape.in_channels, shape.out_channels);
    return packed.data_.get();
  }

  int64_t chunk_first(int64_t chunk) const { return chunk * plan.chunk_tiles; }
  int64_t chunk_size(int64_t chunk) const {
    return std::min(plan.chunk_tiles, plan.grid.tiles() - chunk_first(chunk));
  }
  int64_t channels_of(int64_t channel_block) const {
    return std::min(plan.filters.block, shape.in_channels - channel_block * plan.filters.block);
  }

  // Tiles [first, first + count) of a chunk.
  void gather(int64_t chunk, int64_t first, int64_t count, float* v) const {
    kernels.gather({&plan.grid, x, chunk_first(chunk) + first, count, plan.filters.block,
                    v + static_cast<size_t>(first) * plan.v_row, plan.v_row, plan.v_plane,
                    plan.v_block});
  }

  int64_t panels_of(int64_t block) const {
    return std::min(plan.block_panels, plan.panels - block * plan.block_panels);
  }

  const float* filters(int64_t block, int64_t channel_block, float* u) const {
    const int64_t first_panel = block * plan.block_panels;
    if (packed)
      return packed + static_cast<size_t>(channel_block * plan.panels + first_panel) *
                          plan.filters.panel_floats;
    const int64_t columns = static_cast<int64_t>(kernels.panel_columns);
    for (int64_t panel = 0; panel < panels_of(block); ++panel) {
      const int64_t out = (first_panel + panel) * columns;
      kernels.filter({weights, shape.in_channels, out, std::min(columns, shape.out_channels - out),
                      channel_block * plan.filters.block, channels_of(channel_block),
                      u + static_cast<size_t>(panel) * plan.filters.panel_floats,
                      plan.filters.plane});
    }
    return u;
  }

  // The file's rows that filters() will read after this block of channels.
  AheadRows next_filters(int64_t block, int64_t channel_block) const {
    if (packed || weights.type == WeightType::encoded) return {};
    if (++channel_block == plan.filters.blocks) {
      channel_block = 0;
      if (++block == plan.blocks || !plan.fused) return {};
    }
    const size_t filter_bytes = weights.type == WeightType::f32 ? 36 : 18;
    const size_t row = static_cast<size_t>(shape.in_channels) * filter_bytes;
    return {static_cast<const uint8_t*>(weights.data) +
                static_cast<size_t>(block_out(block)) * row +
                static_cast<size_t>(channel_block * plan.filters.block) * filter_bytes,
            static_cast<size_t>(block_outs(block)), row,
            static_cast<size_t>(channels_of(channel_block)) * filter_bytes};
  }

  int64_t block_out(int64_t block) const { return block * static_cast<int64_t>(plan.m_row); }
  int64_t block_outs(int64_t block) const {
    return std::min(static_cast<int64_t>(plan.m_row), shape.out_channels - block_out(block));
  }

  // One chunk's outputs for one block of output channels. `work`: work_floats().
  void block(int64_t chunk, int64_t block, const float* v, float* work) const {
    float* m = work;
    float* u = m + plan.m_floats();
    float* bias = u + (packed ? 0 : plan.u_floats());
    const ScatterTask outputs{
        &plan.grid,       epilogue,          y, y_strides,  chunk_first(chunk), chunk_size(chunk),
        block_out(block), block_outs(block), m, plan.m_row, plan.m_plane,       bias};
    for (int64_t k = 0; k < plan.filters.blocks; ++k) {
      const float* filter = filters(block, k, u);
      kernels.product({chunk_size(chunk), panels_of(block), channels_of(k),
                       v + static_cast<size_t>(k) * plan.v_block, plan.v_row, plan.v_plane, filter,
                       plan.filters.panel_floats, plan.filters.plane, m, plan.m_row, plan.m_plane,
                       k > 0, next_filters(block, k),
                       k + 1 == plan.filters.blocks ? &outputs : nullptr});
    }
    kernels.scatter(outputs);
  }

  size_t work_floats() const {
    return plan.m_floats() + (packed ? 0 : plan.u_floats()) + plan.m_row;
  }

  // Many chunks: each thread takes whole chunks, whose transformed tiles stay in its own cache.
  void run_fused() const {
    parallel_for(plan.chunks, [&](int64_t chunk, int thread) {
      float* v = scratch(thread, plan.v_floats() + work_floats());
      gather(chunk, 0, chunk_size(chunk), v);
      for (int64_t b = 0; b < plan.blocks; ++b) block(chunk, b, v, v + plan.v_floats());
    });
  }

  // Few chunks: all threads share the transformed tiles.
  void run_shared() const {
    TeamHold team;
    float* v = team.scratch(plan.v_floats() * static_cast<size_t>(plan.chunks));
    // Tiles that are worth some tens of microseconds.
    const int64_t run = std::clamp<int64_t>(4096 / shape.in_channels, 1, 32);
    const int64_t runs = (plan.chunk_tiles + run - 1) / run;
    parallel_for(plan.chunks * runs, [&](int64_t item, int) {
      const int64_t chunk = item / runs, first = item % runs * run;
      const int64_t count = std::min(run, chunk_size(chunk) - first);
      if (count > 0) gather(chunk, first, count, v + static_cast<size_t>(chunk) * plan.v_floats());
    });
    parallel_for(plan.chunks * plan.blocks, [&](int64_t item, int thread) {
      const int64_t chunk = item / plan.blocks;
      block(chunk, item % plan.blocks, v + static_cast<size_t>(chunk) * plan.v_floats(),
            scratch(thread, work_floats()));
    });
  }

  void run() const {
    if (plan.grid.tiles() <= 0) return;
    if (plan.fused)
      run_fused();
    else
      run_shared();
  }
};

namespace {

void check_input(const ConvInput& x) {
  ensure((x.scale != nullptr) == (x.shift != nullptr),
         "a convolution's input has a scale without a shift, or a shift without a scale");
  ensure(x.activation == Activation::none || (x.activation == Activation::silu && x.scale),
         "a convolution reads its input through scale and shift, with silu or nothing; asked for "
         "activation {} {} scale",
         static_cast<int>(x.activation), x.scale ? "with" : "without");
}

}  // namespace

void PackedWinograd::Free::operator()(float* memory) const {
  std::free(memory);
}

size_t packed_winograd_bytes(ConvChoice form, int64_t in_channels, int64_t out_channels) {
  return packed_winograd_floats(form, in_channels, out_channels, winograd_kernels(form)) *
         sizeof(float);
}

PackedWinograd pack_winograd(ConvChoice form, int64_t in_channels, int64_t out_channels,
                             const ConvWeights& weights) {
  PackedWinograd packed;
  const WinogradKernels kernels = winograd_kernels(form);
  packed.form_ = form;
  packed.in_channels_ = in_channels;
  packed.out_channels_ = out_channels;
  packed.floats_ = packed_winograd_floats(form, in_channels, out_channels, kernels);
  const size_t bytes = (packed.floats_ * sizeof(float) + 63) / 64 * 64;
  packed.data_.reset(static_cast<float*>(std::aligned_alloc(64, bytes)));
  if (!packed.data_) throw std::bad_alloc();

  const int64_t columns = static_cast<int64_t>(kernels.panel_columns);
  const WinogradFilters filters(form, in_channels, kernels, 1);
  const int64_t panels = (out_channels + columns - 1) / columns;
  parallel_for(filters.blocks * panels, [&](int64_t item, int) {
    const int64_t first = item / panels * filters.block, out = item % panels * columns;
    kernels.filter({weights, in_channels, out, std::min(columns, out_channels - out), first,
                    std::min(filters.block, in_channels - first),
                    packed.data_.get() + static_cast<size_t>(item) * filters.panel_floats,
                    filters.plane});
  });
  return packed;
}

void winograd_conv(ConvChoice form, const WinogradShape& shape, const ConvInput& x,
                   const ConvWeights& weights, const ConvEpilogue& epilogue, float* y,
                   const ConvStrides& y_strides) {
  check_input(x);
  const WinogradKernels kernels = winograd_kernels(form);
  const WinogradPlan plan = plan_winograd(form, shape, kernels, team_size(), false);
  WinogradRun{shape, x, weights, nullptr, epilogue, y, y_strides, kernels, plan}.run();
}

void winograd_conv(const WinogradShape& shape, const ConvInput& x, const PackedWinograd& packed,
                   const ConvEpilogue& epilogue, float* y, const ConvStrides& y_strides) {
  check_input(x);
  const WinogradKernels kernels = winograd_kernels(packed.form());
  const float* data = WinogradRun::packed_data(packed, shape, kernels);
  const WinogradPlan plan = plan_winograd(packed.form(), shape, kernels, team_size(), true);
  WinogradRun{shape, x, {}, data, epilogue, y, y_strides, kernels, plan}.run();
}

}  // namespace omnirt::cpu
