#include <fmt/format.h>

#include "backends/cpu/simd/split_product.hpp"
#include "io/ggml_types.hpp"
#include "ops.hpp"
#include "weights.hpp"

namespace omnirt::torch_ops {
namespace {

// x {..., in} with the same leading sizes and `last`.
Sizes sizes_with(const Tensor& x, int64_t last) {
  const auto sizes = x.sizes();
  Sizes made(sizes.begin(), sizes.end());
  made.back() = last;
  return made;
}

struct Product {
  const char* op;
  Tensor x, residual, y;
  cpu::GemmArgs args;

  // y = act(x w^T + bias), x checked against the columns of the weight.
  Product(const char* op_name, const Tensor& rows, int64_t in, int64_t out, const MaybeTensor& bias,
          int64_t activation, bool gated)
      : op(op_name) {
    const Argument argument(op, "x", rows);
    argument.dims(1, 8).fp32();
    const int64_t width = rows.size(rows.dim() - 1);
    if (width != in)
      argument.refuse(fmt::format("has {} in its last dimension; the weight takes {}", width, in));
    x = torch::stable::contiguous(rows);
    y = new_rows(sizes_with(rows, out));
    args = {.m = rows.numel() / in,
            .n = out,
            .k = in,
            .x = floats(x),
            .x_stride = in,
            .y = written_floats(y),
            .y_stride = out,
            .epilogue = {.bias = row_or_null(op, "bias", bias, gated ? 2 * out : out),
                         .activation = activation_of(op, activation),
                         .geglu = gated}};
  }

  void add_residual(const Tensor& other) {
    Argument(op, "residual", other).dims(1, 8).fp32();
    const auto wanted = y.sizes(), sizes = other.sizes();
    if (!std::equal(wanted.begin(), wanted.end(), sizes.begin(), sizes.end()))
      Argument(op, "residual", other).refuse("has another shape than the result");
    residual = torch::stable::contiguous(other);
    args.epilogue.residual = floats(residual);
    args.epilogue.residual_stride = args.n;
  }

  int64_t rows_of_sample() const { return x.dim() > 1 ? args.m / x.size(0) : args.m; }
};

void run(const Product& product, const StoredWeight& weight, Precision precision) {
  const cpu::WeightView matrix = weight.matrix();
  const bool worth = precision != Precision::highest &&
                     cpu::worth_splitting(product.rows_of_sample(), matrix.rows, matrix.columns);
  if (worth && precision == Precision::medium && cpu::rounded_available())
    return cpu::gemm_rounded(product.args, matrix);
  if (worth && cpu::split_available()) return cpu::gemm_split(product.args, matrix);
  cpu::gemm(product.args, matrix);
}

const io::GgmlType& encoded_type(const char* op, int64_t number) {
  const io::GgmlType* type =
      number >= 0 && number < 1 << 16 ? io::find_ggml_type(static_cast<uint32_t>(number)) : nullptr;
  if (!type || type->plain)
    refuse(op, "type", number, "no type of GGUF whose numbers are in blocks and can be read");
  return *type;
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const MaybeTensor& bias,
              const MaybeTensor& residual, int64_t activation, bool gated, int64_t precision) {
  constexpr const char* op = "linear";
  const StoredWeight stored(op, weight, 2, 2);
  const int64_t rows = stored.rows();
  if (gated && (rows % 2 != 0 || residual || activation != 0))
    Argument(op, "weight", weight)
        .refuse("of a gated layer has an even number of rows, and no residual or activation");
  Product product(op, x, stored.columns(), gated ? rows / 2 : rows, bias, activation, gated);
  if (residual) product.add_residual(*residual);
  run(product, stored, precision_of(op, precision));
  return product.y;
}

Tensor gguf_linear(const Tensor& x, const Tensor& blocks, int64_t type, const MaybeTensor& bias,
                   int64_t activation) {
  constexpr const char* op = "gguf_linear";
  const io::GgmlType& ggml = encoded_type(op, type);
  const Argument argument(op, "blocks", blocks);
  argument.dims(2, 2).contiguous();
  const int64_t rows = blocks.size(0), row_bytes = blocks.size(1);
  if (blocks.scalar_type() != ScalarType::Byte)
    argument.refuse("holds no bytes; uint8 {rows, bytes of a row} is taken");
  if (row_bytes % static_cast<int64_t>(ggml.bytes) != 0)
    argument.refuse(fmt::format("has rows of {} bytes, no multiple of {}'s blocks of {}", row_bytes,
                                ggml.name, ggml.bytes));
  const int64_t columns =
      row_bytes / static_cast<int64_t>(ggml.bytes) * static_cast<int64_t>(ggml.block);
  const StoredWeight stored(static_cast<const std::byte*>(blocks.const_data_ptr()),
                            io::ggml_encoding(ggml), rows, columns);
  const Product product(op, x, columns, rows, bias, activation, false);
  run(product, stored, Precision::highest);
  return product.y;
}

Tensor fp8_linear(const Tensor& x, const Tensor& weight, const Tensor& scale,
                  const MaybeTensor& bias, int64_t activation) {
  constexpr const char* op = "fp8_linear";
  const Argument argument(op, "weight", weight);
  argument.dims(2, 2).contiguous();
  const ScalarType type = weight.scalar_type();
  if (type != ScalarType::Float8_e4m3fn && type != ScalarType::Float8_e5m2)
    argument.refuse(fmt::format("is {}; float8_e4m3fn and float8_e5m2 are taken",
                                torch::headeronly::toString(type)));
  const int64_t rows = weight.size(0), columns = weight.size(1), scales = scale.numel();
  const Argument of_scale(op, "scale", scale);
  of_scale.dims(0, 2).fp32().contiguous();
  if (scales != 1 && scales != rows)
    of_scale.refuse(fmt::format("has {} numbers; one, or one for each of {} rows", scales, rows));
  const StoredWeight stored(
      static_cast<const std::byte*>(weight.const_data_ptr()),
      scaled_fp8(type == ScalarType::Float8_e4m3fn, columns, floats(scale), scales), rows, columns);
  const Product product(op, x, columns, rows, bias, activation, false);
  run(product, stored, Precision::highest);
  return product.y;
}

}  // namespace omnirt::torch_ops
