// The register-blocked product of unsigned by signed bytes. A Highway per-target header.
#if defined(OMNIRT_CPU_INT8_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_INT8_PRODUCT_INL_H_
#undef OMNIRT_CPU_INT8_PRODUCT_INL_H_
#else
#define OMNIRT_CPU_INT8_PRODUCT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "backends/cpu/simd/int8_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using IntTag = hn::ScalableTag<int32_t>;
using IntVec = hn::Vec<IntTag>;
constexpr size_t int_lanes = hn::MaxLanes(IntTag());
constexpr size_t int8_vectors = 2;

// The quad of bytes of each lane of b times that of a, added to the lane: three ways.
#if HWY_TARGET == HWY_AVX3_DL
constexpr size_t int8_rows = 14;
using Weights = IntVec;
using Inputs = IntVec;
HWY_INLINE Weights split_weights(IntVec b) {
  return b;
}
HWY_INLINE Inputs split_inputs(IntVec a) {
  return a;
}
HWY_INLINE IntVec add_quads(IntVec sum, Inputs a, Weights b) {
  // Assembly, for this target of Highway 1.0 is not compiled with the flag that the intrinsic asks
  // for; at run time it is chosen only where the instruction is there.
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
  return sum;
}
#elif HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
// Bytes widened to 16 bits, even and odd ones apart, so that nothing saturates (the 8-bit
// multiply-add of these targets does).
constexpr size_t int8_rows = HWY_TARGET <= HWY_AVX3 ? 12 : 4;
struct Weights {
  IntVec even, odd;
};
using Inputs = Weights;
HWY_INLINE Weights split_weights(IntVec b) {
  const hn::Repartition<int16_t, IntTag> d16;
  const auto pairs = hn::BitCast(d16, b);
  return {hn::BitCast(IntTag(), hn::ShiftRight<8>(hn::ShiftLeft<8>(pairs))),
          hn::BitCast(IntTag(), hn::ShiftRight<8>(pairs))};
}
HWY_INLINE Inputs split_inputs(IntVec a) {
  const hn::Repartition<uint16_t, IntTag> d16;
  return {hn::And(a, hn::Set(IntTag(), 0x00ff00ff)),
          hn::BitCast(IntTag(), hn::ShiftRight<8>(hn::BitCast(d16, a)))};
}
HWY_INLINE IntVec add_quads(IntVec sum, Inputs a, Weights b) {
  // On x86 all of the result is in the first sum, pairs added in their own lane.
  const hn::Repartition<int16_t, IntTag> d16;
  IntVec rest = hn::Zero(IntTag());
  sum = hn::ReorderWidenMulAccumulate(IntTag(), hn::BitCast(d16, a.even), hn::BitCast(d16, b.even),
                                      sum, rest);
  return hn::ReorderWidenMulAccumulate(IntTag(), hn::BitCast(d16, a.odd), hn::BitCast(d16, b.odd),
                                       sum, rest);
}
#else
constexpr size_t int8_rows = 2;
struct Weights {
  IntVec byte[4];
};
using Inputs = Weights;
HWY_INLINE Weights split_weights(IntVec b) {
  return {{hn::ShiftRight<24>(hn::ShiftLeft<24>(b)), hn::ShiftRight<24>(hn::ShiftLeft<16>(b)),
           hn::ShiftRight<24>(hn::ShiftLeft<8>(b)), hn::ShiftRight<24>(b)}};
}
HWY_INLINE Inputs split_inputs(IntVec a) {
  const IntVec mask = hn::Set(IntTag(), 255);
  return {{hn::And(a, mask), hn::And(hn::ShiftRight<8>(a), mask),
           hn::And(hn::ShiftRight<16>(a), mask), hn::And(hn::ShiftRight<24>(a), mask)}};
}
HWY_INLINE IntVec add_quads(IntVec sum, Inputs a, Weights b) {
  for (size_t i = 0; i < 4; ++i) sum = hn::Add(sum, hn::Mul(a.byte[i], b.byte[i]));
  return sum;
}
#endif

template <size_t... V>
struct Int8SumRow {
  static HWY_INLINE void load(IntVec* sum, const int32_t* c, bool accumulate) {
    const IntTag tag;
    ((sum[V] = accumulate ? hn::LoadU(tag, c + V * int_lanes) : hn::Zero(tag)), ...);
  }
  static HWY_INLINE void add(IntVec* sum, const uint8_t* a, const Weights* b) {
    int32_t quad;
    std::memcpy(&quad, a, sizeof(quad));
    const Inputs inputs = split_inputs(hn::Set(IntTag(), quad));
    ((sum[V] = add_quads(sum[V], inputs, b[V])), ...);
  }
  static HWY_INLINE void store(const IntVec* sum, int32_t* c) {
    (hn::StoreU(sum[V], IntTag(), c + V * int_lanes), ...);
  }
};

HWY_INLINE Weights load_weights(const int8_t* b) {
#if HWY_TARGET == HWY_SCALAR
  int32_t quad;
  std::memcpy(&quad, b, sizeof(quad));
  return split_weights(hn::Set(IntTag(), quad));
#else
  const hn::Repartition<int8_t, IntTag> d8;
  return split_weights(hn::BitCast(IntTag(), hn::LoadU(d8, b)));
#endif
}

// As micro_instance of micro_kernel-inl.h, over quads of bytes.
template <size_t... R, size_t... V, size_t... G>
HWY_INLINE void int8_instance(std::index_sequence<R...>, std::index_sequence<V...>,
                              std::index_sequence<G...>, const uint8_t* HWY_RESTRICT a,
                              size_t a_stride, const int8_t* HWY_RESTRICT b, size_t k,
                              int32_t* HWY_RESTRICT c, size_t c_stride, bool accumulate) {
  using Row = Int8SumRow<V...>;
  IntVec sum[sizeof...(R)][sizeof...(V)];
  (Row::load(sum[R], c + R * c_stride, accumulate), ...);
  const uint8_t* base[] = {a + 3 * G * a_stride...};
  for (size_t p = 0; p < k; p += 4) {
    const Weights weights[] = {load_weights(b + V * int_lanes * 4)...};
    (Row::add(sum[R], base[R / 3] + R % 3 * a_stride, weights), ...);
    ((base[G] += 4), ...);
    b += int8_panel * 4;
  }
  (Row::store(sum[R], c + R * c_stride), ...);
}

template <size_t rows>
HWY_NOINLINE void int8_product_rows(const uint8_t* a, size_t a_stride, const int8_t* b, size_t k,
                                    int32_t* c, size_t c_stride, bool accumulate) {
  for (size_t n = 0; n < int8_panel; n += int8_vectors * int_lanes)
    int8_instance(std::make_index_sequence<rows>(), std::make_index_sequence<int8_vectors>(),
                  std::make_index_sequence<(rows + 2) / 3>(), a, a_stride, b + n * 4, k, c + n,
                  c_stride, accumulate);
}

using Int8ProductRows = void (*)(const uint8_t* a, size_t a_stride, const int8_t* b, size_t k,
                                 int32_t* c, size_t c_stride, bool accumulate);

template <size_t... R>
HWY_INLINE Int8ProductRows int8_choice(size_t rows, std::index_sequence<R...>) {
  static constexpr Int8ProductRows instances[] = {&int8_product_rows<R + 1>...};
  return instances[rows - 1];
}

void int8_product(size_t rows, const uint8_t* a, size_t a_stride, const int8_t* b, size_t k,
                  int32_t* c, size_t c_stride, bool accumulate) {
  int8_choice(rows, std::make_index_sequence<int8_rows>())(a, a_stride, b, k, c, c_stride,
                                                           accumulate);
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
