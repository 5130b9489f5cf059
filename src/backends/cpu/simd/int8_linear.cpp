#include <algorithm>
#include <cstring>

#include "backends/cpu/simd/int8.hpp"
#include "backends/cpu/simd/int8_view.hpp"
#include "backends/cpu/simd/integers.hpp"
#include "backends/cpu/simd/thread_team.hpp"
#include "base/ensure.hpp"

namespace omnirt::cpu {
namespace {

// The rows of a linear layer.
class LinearRows final : public Int8Source {
 public:
  LinearRows(const Int8Kernels& kernels, const GemmArgs& args, int64_t group)
      : kernels_(kernels), args_(args), group_(static_cast<size_t>(group)) {}

  size_t room_floats() const override {
    return group_ > 1 ? (static_cast<size_t>(args_.k) + 15) / 16 * 16 : 0;
  }

  Int8Row quantize(int64_t row, uint8_t* bytes, float* room) const override {
    const float* x = args_.x + row * args_.x_stride;
    const size_t count = static_cast<size_t>(args_.k);
    if (group_ > 1) {
      kernels_.rotate(x, count, group_, room);
      x = room;
    }
    const Int8Scale scale = int8_scale(kernels_.range(x, count));
    if (scale.inverse == 0.0f)
      std::memset(bytes, 0, count);
    else
      kernels_.quantize(x, count, scale.inverse, scale.zero, bytes);
    const Epilogue& e = args_.epilogue;
    return {scale.scale, scale.zero, args_.y + row * args_.y_stride,
            e.residual ? e.residual + row * e.residual_stride : nullptr,
            e.row_bias ? e.row_bias + row / e.rows_per_bias * e.row_bias_stride : nullptr};
  }

 private:
  const Int8Kernels& kernels_;
  const GemmArgs& args_;
  const size_t group_;
};

void check(const GemmArgs& args, const Int8View& view) {
  ensure(args.k == view.inner && args.n == view.outputs(),
         "int8 product of {} x {} with a weight of {} x {}", args.n, args.k, view.outputs(),
         view.inner);
  ensure(args.epilogue.geglu == view.gated, "int8 weight packed gated: {}, product: {}", view.gated,
         args.epilogue.geglu);
}

Int8Product product_of(const Int8Kernels& kernels, const GemmArgs& args, const LinearRows& rows,
                       const Int8View& view) {
  return {kernels, args.m, &rows, view, args.epilogue.bias, args.epilogue.activation};
}

}  // namespace

void int8_linear(const Int8Kernels& kernels, const GemmArgs& args, const Int8View& view) {
  check(args, view);
  ensure(view.packed(), "int8 weight of {} x {} without the sums of its rows", view.rows,
         view.inner);
  if (args.m == 0) return;
  const LinearRows rows(kernels, args, view.group);
  const Int8Product product = product_of(kernels, args, rows, view);
  TeamHold hold;
  run_int8(product, hold.scratch(int8_shared_floats(product)));
}

void int8_linear(const Int8Kernels& kernels, const GemmArgs& args, const Int8Matrix& weight) {
  const bool gated = args.epilogue.geglu;
  const Int8View view = int8_file_view(weight, gated, nullptr);
  check(args, view);
  ensure(weight.columns <= int8_most_inner && int8_rotates(weight.group),
         "int8 rows of {} rotated in groups of {}", weight.columns, weight.group);
  if (args.m == 0) return;
  const LinearRows rows(kernels, args, view.group);
  Int8Product product = product_of(kernels, args, rows, view);
  const size_t scales = static_cast<size_t>(view.panels) * int8_panel;
  TeamHold hold;
  float* shared = hold.scratch(scales + int8_shared_floats(product));
  int8_column_scales(weight, gated, shared);
  product.weight.scales = shared;
  run_int8(product, shared + scales);
}

int64_t int8_group(int64_t inputs) {
  for (const int64_t group : {256, 64, 16})
    if (inputs % group == 0) return group;
  return 1;
}

bool int8_rotates(int64_t group) {
  return group == 1 || group == 16 || group == 64 || group == 256;
}

void int8_rotate(const float* x, int64_t pixels, int64_t channels, int64_t group, float* y) {
  const Int8Kernels kernels = int8_kernels();
  // Rows that are worth some tens of microseconds.
  const int64_t run = std::max<int64_t>(1, 32768 / channels);
  parallel_for(ceil_div(pixels, run), [&](int64_t item, int) {
    const int64_t first = item * run, count = std::min(run, pixels - first);
    kernels.rotate(x + first * channels, static_cast<size_t>(count * channels),
                   static_cast<size_t>(group), y + first * channels);
  });
}

void int8_linear(const GemmArgs& args, const Int8View& weight) {
  int8_linear(int8_kernels(), args, weight);
}

void int8_linear(const GemmArgs& args, const Int8Matrix& weight) {
  int8_linear(int8_kernels(), args, weight);
}

}  // namespace omnirt::cpu
