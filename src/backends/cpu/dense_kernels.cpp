#include <ATen/ops/empty.h>

#include <algorithm>
#include <vector>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd/gemm.hpp"
#include "backends/cpu/simd/split_product.hpp"
#include "backends/cpu/tensors.hpp"

namespace omnirt::cpu {
namespace {

// Packing a weight at each call costs as much as some rows of its product: above this many rows it
// is negligible, and a product of very few rows is bound by reading the weight, which packing makes
// no smaller. A weight that is large, or stored in a narrower type, is better widened and packed in
// the cache at each call than read packed from memory, where it takes more room.
constexpr int64_t least_rows_worth_packing = 8, most_rows_worth_packing = 64;
constexpr size_t most_matrix_bytes_worth_packing = size_t{8} << 20;

bool worth_packing(int64_t rows, const WeightView& weight, size_t bytes) {
  return weight.type == WeightType::f32 && rows >= least_rows_worth_packing &&
         rows <= most_rows_worth_packing && bytes <= most_matrix_bytes_worth_packing;
}

// That the sizes go together, the op has seen.
bool takes(const Tensor& x, const Tensor& weight, const Tensor* bias, const ops::PackSlot* slot) {
  return is_fp32(x) && x.dim() >= 2 && x.numel() > 0 && is_stored_weight(weight, slot) &&
         weight.numel() > 0 && is_row_or_absent(bias);
}

int64_t rows_of(const Tensor& x) {
  return x.numel() / x.size(-1);
}

int64_t rows_of_sample(const Tensor& x) {
  return rows_of(x) / x.size(0);
}

// Weights that int8 products take: all, or those that their files hold so.
bool is_quantised(const ops::PackSlot* slot, const Tensor& weight) {
  if (!slot || slot->quantization() == ops::Quantization::none) return false;
  if (slot->quantization() == ops::Quantization::automatic) return !!int8_matrix(weight, slot);
  return weight.size(1) <= int8_most_inner;
}

// How a product is computed once its arguments are known.
using ProductOf = void (*)(const GemmArgs&, const Tensor& x, const Tensor& weight, ops::PackSlot*);

void product(const GemmArgs& args, const Tensor& x, const Tensor& weight, ops::PackSlot* slot) {
  const StoredWeight stored(weight, slot);
  const WeightView view = stored.matrix();
  bool gated = args.epilogue.geglu;
  size_t bytes = packed_bytes(view.rows, view.columns, gated);
  bool wanted = slot && (slot->policy() == ops::PackPolicy::always ||
                         worth_packing(rows_of_sample(x), view, bytes));
  const PackedMatrix* packed =
      wanted ? slot->find_or_make<PackedMatrix>(bytes, [&] { return pack(view, gated); }) : nullptr;
  packed ? gemm(args, *packed) : gemm(args, view);
}

// Laying out a file's bytes at each call costs as much as some ten rows of their product.
constexpr int64_t most_rows_to_pack_int8 = 256;
constexpr size_t most_matrix_bytes_to_pack_int8 = size_t{3} << 20;

void stored_int8_product(const GemmArgs& args, const Tensor& x, const Int8Matrix& weight,
                         ops::PackSlot& slot) {
  const bool gated = args.epilogue.geglu;
  const size_t bytes = packed_int8_bytes(weight.rows, weight.columns, gated);
  const bool wanted =
      slot.policy() == ops::PackPolicy::always ||
      (rows_of_sample(x) <= most_rows_to_pack_int8 && bytes <= most_matrix_bytes_to_pack_int8);
  const auto pack = [&] { return pack_int8(weight, gated); };
  const PackedInt8* packed = wanted ? slot.find_or_make<PackedInt8>(bytes, pack) : nullptr;
  packed ? int8_linear(args, *packed) : int8_linear(args, weight);
}

void int8_product(const GemmArgs& args, const Tensor& x, const Tensor& weight,
                  ops::PackSlot* slot) {
  if (const auto stored = int8_matrix(weight, slot))
    return stored_int8_product(args, x, *stored, *slot);
  const bool gated = args.epilogue.geglu;
  const auto pack = [&] {
    const StoredWeight plain(weight, slot);
    return pack_int8(plain.matrix(), gated, {}, int8_group(weight.size(1)));
  };
  const size_t bytes = packed_int8_bytes(weight.size(0), weight.size(1), gated);
  int8_linear(args, slot->replace<PackedInt8>(bytes, pack));
}

bool accepts_linear(const ops::Linear& args) {
  return takes(args.x, args.weight, args.bias, args.pack) && is_fp32_or_absent(args.residual);
}

template <ProductOf product>
Tensor run_linear(const ops::Linear& args) {
  Tensor x = args.x.contiguous();
  Tensor residual = args.residual ? args.residual->contiguous() : Tensor();
  Tensor y = at::empty(ops::Linear::shape(args), x.options());
  int64_t in = args.weight.size(1), out = args.weight.size(0);
  product({.m = rows_of(x),
           .n = out,
           .k = in,
           .x = x.const_data_ptr<float>(),
           .x_stride = in,
           .y = y.mutable_data_ptr<float>(),
           .y_stride = out,
           .epilogue = {.bias = data_or_null(args.bias),
                        .residual = args.residual ? residual.const_data_ptr<float>() : nullptr,
                        .residual_stride = out,
                        .activation = args.activation}},
          x, args.weight, args.pack);
  return y;
}

bool accepts_gated(const ops::GatedLinear& args) {
  return takes(args.x, args.weight, args.bias, args.pack);
}

template <ProductOf product>
Tensor run_gated(const ops::GatedLinear& args) {
  Tensor x = args.x.contiguous();
  Tensor y = at::empty(ops::GatedLinear::shape(args), x.options());
  int64_t in = args.weight.size(1), out = args.weight.size(0) / 2;
  product({.m = rows_of(x),
           .n = out,
           .k = in,
           .x = x.const_data_ptr<float>(),
           .x_stride = in,
           .y = y.mutable_data_ptr<float>(),
           .y_stride = out,
           .epilogue = {.bias = data_or_null(args.bias), .geglu = true}},
          x, args.weight, args.pack);
  return y;
}

bool accepts_int8_linear(const ops::Linear& args) {
  return accepts_linear(args) && is_quantised(args.pack, args.weight);
}

bool accepts_int8_gated(const ops::GatedLinear& args) {
  return accepts_gated(args) && is_quantised(args.pack, args.weight);
}

// Splitting a weight at each call costs as much as some hundred rows of its product.
constexpr int64_t most_rows_to_pack_split = 256;
constexpr size_t most_matrix_bytes_to_pack_split = size_t{3} << 20;

bool splits(const Tensor& x, const Tensor& weight, const ops::PackSlot* slot) {
  return !is_quantised(slot, weight) &&
         worth_splitting(rows_of_sample(x), weight.size(0), weight.size(1));
}

template <size_t parts>
void split_product(const GemmArgs& args, const Tensor& x, const Tensor& weight,
                   ops::PackSlot* slot) {
  const StoredWeight stored(weight, slot);
  const WeightView view = stored.matrix();
  bool gated = args.epilogue.geglu;
  size_t bytes = packed_split_bytes(view.rows, view.columns, 1, gated, parts);
  bool wanted =
      slot &&
      (slot->policy() == ops::PackPolicy::always ||
       (rows_of_sample(x) <= most_rows_to_pack_split && bytes <= most_matrix_bytes_to_pack_split));
  const PackedSplit* packed = wanted
                                  ? slot->find_or_make<PackedSplit>(
                                        bytes, [&] { return PackedSplit(view, 1, gated, parts); })
                                  : nullptr;
  parts == 1 ? gemm_rounded(args, view, packed) : gemm_split(args, view, packed);
}

bool accepts_split_linear(const ops::Linear& args) {
  return accepts_linear(args) && splits(args.x, args.weight, args.pack);
}

bool accepts_split_gated(const ops::GatedLinear& args) {
  return accepts_gated(args) && splits(args.x, args.weight, args.pack);
}

bool accepts_table(const ops::Embedding& args) {
  return args.x.device().is_cpu() && args.x.scalar_type() == at::kLong &&
         is_stored_weight(args.weight, args.pack) &&
         args.dtype.value_or(args.weight.scalar_type()) == at::kFloat;
}

template <class Number>
void copy_row(const void* table, size_t row, size_t width, float* to) {
  std::copy_n(static_cast<const Number*>(table) + row * width, width, to);
}

void widen_row_of(const WeightView& table, size_t row, float* temporary, float* to) {
  const auto width = static_cast<size_t>(table.columns);
  switch (table.type) {
    case WeightType::f32:
      return copy_row<float>(table.data, row, width, to);
    case WeightType::f16:
      return copy_row<at::Half>(table.data, row, width, to);
    case WeightType::bf16:
      return copy_row<at::BFloat16>(table.data, row, width, to);
    case WeightType::encoded:
      std::copy_n(table.encoded->read(row * width, width, temporary), width, to);
  }
}

// Widens the rows asked for alone.
Tensor run_table(const ops::Embedding& args) {
  const StoredWeight stored(args.weight, args.pack);
  const WeightView table = stored.matrix();
  const Tensor indices = args.x.contiguous();
  Tensor y = at::empty(ops::Embedding::shape(args), indices.options().dtype(at::kFloat));
  std::vector<float> temporary(static_cast<size_t>(table.columns) + 2 * most_encoded_unit);
  float* to = y.mutable_data_ptr<float>();
  for (int64_t i = 0; i < indices.numel(); ++i, to += table.columns) {
    const int64_t row = indices.const_data_ptr<int64_t>()[i];
    ensure(row >= 0 && row < table.rows, "row {} of a table of {}", row, table.rows);
    widen_row_of(table, static_cast<size_t>(row), temporary.data(), to);
  }
  return y;
}

}  // namespace

void add_split_dense_kernels(ops::OpTable& table) {
  table.linear.add(kernel("cpu split gemm", accepts_split_linear, run_linear<split_product<2>>));
  table.gated_linear.add(
      kernel("cpu split gemm geglu", accepts_split_gated, run_gated<split_product<2>>));
}

void add_rounded_dense_kernels(ops::OpTable& table) {
  table.linear.add(kernel("cpu bf16 gemm", accepts_split_linear, run_linear<split_product<1>>));
  table.gated_linear.add(
      kernel("cpu bf16 gemm geglu", accepts_split_gated, run_gated<split_product<1>>));
}

void add_dense_kernels(ops::OpTable& table) {
  table.linear.add(kernel("cpu int8 gemm", accepts_int8_linear, run_linear<int8_product>));
  table.gated_linear.add(
      kernel("cpu int8 gemm geglu", accepts_int8_gated, run_gated<int8_product>));
  table.linear.add(kernel("cpu gemm", accepts_linear, run_linear<product>));
  table.gated_linear.add(kernel("cpu gemm geglu", accepts_gated, run_gated<product>));
  table.embedding.add(kernel("cpu table", accepts_table, run_table));
}

}  // namespace omnirt::cpu
