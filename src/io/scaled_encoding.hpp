#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "io/weight_file.hpp"

namespace omnirt::io {

// Matrices of small numbers whose scales are tensors of their own. Element (r, k) of {rows,
// columns} is number * scale, with the scale of its block; and the second scale and the zero point
// of its block, where there are any.
struct ScaledForm {
  enum class Numbers { f8_e4m3, f8_e5m2, int8, f4_high_first, f4_low_first, uint4_low_first };
  // Where a block's scale is stored: by rows, by columns, or as matrix units of GPUs take them
  // (https://docs.nvidia.com/cuda/cublas, "1D block scaling factors layout": tiles of 128 x 4).
  enum class Order { rows, columns, tiles };

  std::string name;  // as Encoding::name
  Numbers numbers = Numbers::f8_e4m3;
  int64_t rows = 0, columns = 0;
  int64_t block_rows = 1, block_columns = 1;  // that share a scale
  FoundTensor scales;
  Dtype scale_type = Dtype::f32;  // what the scales' bytes are, whatever the file calls them
  Order order = Order::rows;
  std::optional<FoundTensor> second_scale{};  // one fp32 number; multiplied with the block's first
  std::optional<FoundTensor> zeros{};  // in the scales' type and order; numbers are 8 less then
  // Groups of this many columns were multiplied by a Hadamard matrix, which is undone
  // (arXiv 2512.03673, ConvRot); 0: none. A power of 4.
  int64_t rotation = 0;
};

// Multiplies by the Hadamard matrix that is the Kronecker power of one of 4 x 4 (a row's element is
// -1 opposite its own place and 1 elsewhere), divided by the root of the size, a power of 4. Its
// own inverse.
void rotate_group(std::span<float> group);

// The form's sizes must fit each other and its tensors (fold_scales checks them).
std::shared_ptr<const Encoding> scaled_encoding(ScaledForm form);

}  // namespace omnirt::io
