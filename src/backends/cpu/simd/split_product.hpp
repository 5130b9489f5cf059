#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "backends/cpu/simd/gemm.hpp"
#include "backends/cpu/simd/winograd.hpp"

// Products and convolutions of fp32 numbers split into two bf16 ones (split_kernels.hpp), for
// processors whose matrix unit multiplies bf16 at many times the rate of fp32: what torch calls the
// matmul precision "high". Henry, Tang and Heinecke, "Leveraging the bfloat16 Artificial
// Intelligence Datatype For Higher-Precision Computations" (arXiv 1904.06376).
//
// * Each product of two numbers is right to 1e-5 of itself, sums are kept in fp32: a result is
// right
//   to about 4e-6 of the root of its terms' squares.
// * Weights stay as in the file, and are split a cache-sized block at a time inside the
//   product, each once per call.
// * Bits do not depend on the number of threads, on m or on the rest of the batch.
// * A NaN or an infinity makes a NaN or an infinity of every output that it reaches by the formula,
//   and of no other.
//
// With one part, numbers are rounded to bf16 (torch's matmul precision "medium"): each product of
// two numbers is right to 2^-8 of itself, sums are still kept in fp32; numbers of 3.39e38 and over
// become infinite. Also where the processor multiplies bf16 without a matrix unit
// (bf16_product.hpp).
namespace omnirt::cpu {

struct SplitKernels;

// Whether the machine has a unit for it: with two parts, with one.
bool split_available();
bool rounded_available();

// Whether products of split (or rounded) numbers are worth it: a small one is done before a split
// one has begun. Rows, pixels and tokens are those of one sample, so that a sample has the same
// bits in a batch.
bool worth_splitting(int64_t rows, int64_t out, int64_t in);
// A convolution that conv_split takes.
bool worth_splitting_conv(const WinogradShape& shape, int64_t kernel_height, int64_t kernel_width,
                          int64_t stride);
bool worth_splitting_attention(int64_t tokens, int64_t keys);

// Weights split and packed beforehand, for products of few rows that run often: of two parts as
// large as in fp32, of one half as large.
class PackedSplit {
 public:
  PackedSplit() = default;
  // Rows [n (2 n with geglu)][columns / taps][taps].
  PackedSplit(const WeightView& weight, int64_t taps, bool geglu, size_t parts = 2);
  const uint16_t* data() const { return data_.get(); }
  // Whether it was made of such weights.
  bool is_of(int64_t rows, int64_t columns, int64_t taps, bool geglu, size_t parts) const {
    return rows == rows_ && columns == columns_ && taps == taps_ && geglu == geglu_ &&
           parts == parts_;
  }

 private:
  struct Free {
    void operator()(uint16_t* memory) const;
  };
  std::unique_ptr<uint16_t, Free> data_;
  int64_t rows_ = 0, columns_ = 0, taps_ = 0;
  bool geglu_ = false;
  size_t parts_ = 2;
};
size_t packed_split_bytes(int64_t rows, int64_t columns, int64_t taps, bool geglu,
                          size_t parts = 2);

// As gemm (gemm.hpp); `packed`: what was made of the weights, or null.
void gemm_split(const GemmArgs& args, const WeightView& weight,
                const PackedSplit* packed = nullptr);
// The same with one part.
void gemm_rounded(const GemmArgs& args, const WeightView& weight,
                  const PackedSplit* packed = nullptr);

// 3x3 with zeros around, or 1x1 without; stride 1. shape's padding must be 1 (or 0) on all sides.
// With one part also of other strides and paddings, up to 3x3.
struct SplitConv {
  WinogradShape shape;
  int64_t kernel = 3;
  ConvInput x;
  ConvWeights weights;
  const PackedSplit* packed = nullptr;  // what was made of the weights
  ConvEpilogue epilogue;
  float* y = nullptr;  // must not overlap x
  ConvStrides y_strides;
  int64_t stride = 1;
};
void conv_split(const SplitConv& conv);
// The same with one part.
void conv_rounded(const SplitConv& conv);

// The same with given kernels, for tests.
void gemm_split(const SplitKernels& kernels, const GemmArgs& args, const WeightView& weight,
                const PackedSplit* packed);
void conv_split(const SplitKernels& kernels, const SplitConv& conv);

}  // namespace omnirt::cpu
