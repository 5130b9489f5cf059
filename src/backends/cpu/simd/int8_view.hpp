#pragma once
#include "backends/cpu/simd/int8.hpp"
#include "backends/cpu/simd/int8_kernels.hpp"

// What the files of the int8 products share. Internal.
namespace omnirt::cpu {

// Packed weights as a product reads them.
struct Int8View {
  const int8_t* data;
  const float* scales;
  const int32_t* sums;
  int64_t rows, inner, padded_inner, panels, group;
  bool gated;

  explicit Int8View(const PackedInt8& packed)
      : data(packed.data_.get()),
        scales(packed.scales_.data()),
        sums(packed.sums_.data()),
        rows(packed.rows_),
        inner(packed.inner_),
        padded_inner(packed.padded_inner_),
        panels(packed.panels_),
        group(packed.group_),
        gated(packed.gated_) {}

  int64_t outputs() const { return gated ? rows / 2 : rows; }
  int64_t unit() const { return gated ? 2 : 1; }  // panels that one panel of y takes
  size_t panel_bytes() const { return static_cast<size_t>(padded_inner) * int8_panel; }
};

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

void int8_linear(const Int8Kernels& kernels, const GemmArgs& args, const PackedInt8& weight);
void int8_conv(const Int8Kernels& kernels, const Int8ConvShape& shape, const ConvInput& x,
               const PackedInt8& weight, const ConvEpilogue& epilogue, float* y,
               const ConvStrides& y_strides);

}  // namespace omnirt::cpu
