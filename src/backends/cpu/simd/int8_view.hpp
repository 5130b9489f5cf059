#pragma once
#include "backends/cpu/simd/int8.hpp"
#include "backends/cpu/simd/int8_kernels.hpp"

// What the files of the int8 products share. Internal.
namespace omnirt::cpu {

// Columns of the panels that rows of a file become, and bytes of each.
int64_t int8_panels(int64_t rows, bool gated);
int64_t int8_padded(int64_t inner);

// A file's weights as a product reads them; `columns`: the scales in the panels' order
// (int8_column_scales).
Int8View int8_file_view(const Int8Matrix& weight, bool gated, const float* columns);

// The rows of a file that are the columns of a panel. Gated panels alternate, values and gates.
struct Int8PanelRows {
  size_t first, count;
};
Int8PanelRows int8_panel_rows(int64_t rows, bool gated, int64_t panel);

// Bytes [from, to) of a file's panel, laid out; and the sum of each column, added to `sums` or
// (from 0 on) in its place. `to` - `from` is at most int8_longest_slice.
constexpr size_t int8_longest_slice = 1024;
void int8_lay_out_panel(const Int8Kernels& kernels, const Int8View& weight, int64_t panel,
                        size_t from, size_t to, int8_t* bytes, int32_t* sums);

// The scales of a file's rows in the order of its panels' columns: int8_panels() panels.
void int8_column_scales(const Int8Matrix& weight, bool gated, float* columns);

// The left side of a product: rows of activations, rounded as they are asked for.
class Int8Source {
 public:
  virtual ~Int8Source() = default;
  // Row `row` of the product: its bytes, `inner` of them, and what goes with it. `room` holds
  // room_floats(), of the thread that asks.
  virtual Int8Row quantize(int64_t row, uint8_t* bytes, float* room) const = 0;
  virtual size_t room_floats() const { return 0; }
};

struct Int8Product {
  Int8Kernels kernels;
  int64_t m;
  const Int8Source* source;
  Int8View weight;
  const float* bias;  // [rows of the weight] or null
  Activation activation;
};

// The caller holds the team, and provides memory that all threads may use, 64-byte aligned.
size_t int8_shared_floats(const Int8Product& product);
void run_int8(const Int8Product& product, float* shared);

// As the public ones, with kernels of the caller's choice.

void int8_linear(const Int8Kernels& kernels, const GemmArgs& args, const Int8View& weight);
void int8_linear(const Int8Kernels& kernels, const GemmArgs& args, const Int8Matrix& weight);
void int8_conv(const Int8Kernels& kernels, const Int8ConvShape& shape, const ConvInput& x,
               const Int8View& weight, const ConvEpilogue& epilogue, float* y,
               const ConvStrides& y_strides);

}  // namespace omnirt::cpu
