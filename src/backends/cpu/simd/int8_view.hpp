#pragma once
#include "backends/cpu/simd/int8.hpp"
#include "backends/cpu/simd/int8_kernels.hpp"

// What the files of the int8 products share. Internal.
namespace omnirt::cpu {

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
void int8_conv(const Int8Kernels& kernels, const Int8ConvShape& shape, const ConvInput& x,
               const Int8View& weight, const ConvEpilogue& epilogue, float* y,
               const ConvStrides& y_strides);

}  // namespace omnirt::cpu
