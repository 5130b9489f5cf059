#include "backends/cpu/simd/gemm.hpp"

#include <new>

#include "backends/cpu/simd/gemm_product.hpp"
#include "base/ensure.hpp"

namespace omnirt::cpu {
namespace {

constexpr std::align_val_t alignment{64};

int64_t packed_floats(int64_t rows, int64_t columns, bool geglu) {
  const int64_t halves = geglu ? 2 : 1, n = rows / halves, width = width_of_packed(n);
  return halves * ((n + width - 1) / width * width) * columns;
}

void check(const GemmArgs& args, int64_t rows, int64_t columns) {
  const int64_t halves = args.epilogue.geglu ? 2 : 1;
  ensure(rows == halves * args.n && columns == args.k, "weights {}x{} for a product of {} by {}",
         rows, columns, args.n, args.k);
  ensure(!args.epilogue.geglu || (!args.epilogue.residual && !args.epilogue.row_bias),
         "geglu with a residual or a bias of rows");
}

Product product_of(const GemmArgs& args) {
  Product product;
  product.m = args.m;
  product.n = args.n;
  product.inner = inner_blocks(args.k, 1);
  product.x = args.x;
  product.x_stride = args.x_stride;
  product.y = args.y;
  product.y_stride = args.y_stride;
  product.epilogue = args.epilogue;
  return product;
}

}  // namespace

void PackedMatrix::Free::operator()(float* memory) const {
  ::operator delete(memory, alignment);
}

PackedMatrix pack_rows(const WeightView& weight, bool geglu, int64_t taps) {
  PackedMatrix packed;
  packed.floats_ = static_cast<size_t>(packed_floats(weight.rows, weight.columns, geglu));
  packed.data_.reset(
      static_cast<float*>(::operator new(packed.floats_ * sizeof(float), alignment)));
  packed.rows_ = weight.rows;
  packed.columns_ = weight.columns;
  packed.taps_ = taps;
  packed.geglu_ = geglu;
  const InnerBlocks inner = inner_blocks(weight.columns / taps, taps);
  const int64_t n = geglu ? weight.rows / 2 : weight.rows;
  pack_panels(weight, 0, n, inner, packed.data_.get());
  if (geglu) pack_panels(weight, n, n, inner, packed.data_.get() + packed.floats_ / 2);
  return packed;
}

PackedMatrix pack(const WeightView& weight, bool geglu) {
  return pack_rows(weight, geglu, 1);
}

size_t packed_bytes(int64_t rows, int64_t columns, bool geglu) {
  return static_cast<size_t>(packed_floats(rows, columns, geglu)) * sizeof(float);
}

void gemm(const GemmArgs& args, const WeightView& weight) {
  check(args, weight.rows, weight.columns);
  if (args.m == 0 || args.n == 0) return;
  Product product = product_of(args);
  product.weight = weight;
  run_product(product);
}

void gemm(const GemmArgs& args, const PackedMatrix& weight) {
  check(args, weight.rows(), weight.columns());
  ensure(weight.geglu() == args.epilogue.geglu && weight.taps() == 1,
         "weights that were packed for another kind of product");
  if (args.m == 0 || args.n == 0) return;
  Product product = product_of(args);
  product.packed = weight.data();
  run_product(product);
}

}  // namespace omnirt::cpu
