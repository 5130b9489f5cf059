#include "backends/cpu/simd/widen_blocks.hpp"

#include "backends/cpu/simd/targets.h"
#include "io/small_float.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/widen_blocks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/simd/micro_kernel-inl.h"

// Where elements are in a block: io/ggml_widen.cpp and io/ggml_widen_k.cpp.
HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using IntTag = hn::RebindToSigned<FloatTag>;
using UnsignedTag = hn::RebindToUnsigned<FloatTag>;
using IntVec = hn::Vec<IntTag>;
using UnsignedVec = hn::Vec<UnsignedTag>;

// A vector's lanes of bytes, widened.
HWY_INLINE UnsignedVec load_bytes(const std::byte* from) {
  const hn::Rebind<uint8_t, UnsignedTag> bytes;
  return hn::PromoteTo(UnsignedTag(), hn::LoadU(bytes, reinterpret_cast<const uint8_t*>(from)));
}
HWY_INLINE IntVec load_signed_bytes(const std::byte* from) {
  const hn::Rebind<int8_t, IntTag> bytes;
  return hn::PromoteTo(IntTag(), hn::LoadU(bytes, reinterpret_cast<const int8_t*>(from)));
}

HWY_INLINE UnsignedVec low_bits(UnsignedVec bits, uint32_t mask) {
  return hn::And(bits, hn::Set(UnsignedTag(), mask));
}
HWY_INLINE FloatVec to_float(UnsignedVec bits) {
  return hn::ConvertTo(FloatTag(), hn::BitCast(IntTag(), bits));
}
HWY_INLINE FloatVec less(UnsignedVec bits, int32_t offset) {
  const IntTag di;
  return hn::ConvertTo(FloatTag(), hn::Sub(hn::BitCast(di, bits), hn::Set(di, offset)));
}

HWY_INLINE float f16_at(const std::byte* from) {
  const auto bits = io::load_as<uint16_t>(from);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  const hn::CappedTag<float, 4> d;
  const hn::Rebind<uint16_t, decltype(d)> du;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  return hn::GetLane(hn::PromoteTo(d, hn::BitCast(dh, hn::Set(du, bits))));
#else
  return io::widen_f16(bits);
#endif
}

// Calls block(from, to) for each.
template <size_t elements, size_t bytes, class Block>
HWY_INLINE void each_block(const std::byte* from, size_t count, float* to, const Block& block) {
  for (size_t i = 0; i < count; ++i, from += bytes, to += elements) block(from, to);
}

void widen_q8_0(const std::byte* blocks, size_t count, float* to) {
  const FloatTag d;
  each_block<32, 34>(blocks, count, to, [&](const std::byte* block, float* out) HWY_ATTR {
    const auto scale = hn::Set(d, f16_at(block));
    for (size_t i = 0; i < 32; i += float_lanes)
      hn::StoreU(hn::Mul(hn::ConvertTo(d, load_signed_bytes(block + 2 + i)), scale), d, out + i);
  });
}

// Blocks of 32 whose first half is in the low four bits of 16 bytes, the second in the high ones.
// `high`: the fifth bits, one per element; `offset`: what all are less; or a minimum in `to + ...`.
template <size_t bytes, size_t quants, bool fifth, bool minimum>
void widen_32(const std::byte* blocks, size_t count, float* to) {
  const FloatTag d;
  const UnsignedTag du;
  constexpr int32_t offset = minimum ? 0 : (fifth ? 16 : 8);
  each_block<32, bytes>(blocks, count, to, [&](const std::byte* block, float* out) HWY_ATTR {
    const auto scale = hn::Set(d, f16_at(block));
    [[maybe_unused]] const auto least = hn::Set(d, minimum ? f16_at(block + 2) : 0.0f);
    [[maybe_unused]] uint32_t high = 0;
    if constexpr (fifth) high = io::load_as<uint32_t>(block + quants - 4);
    for (size_t i = 0; i < 32; i += float_lanes) {
      const auto both = load_bytes(block + quants + i % 16);
      auto bits = i < 16 ? low_bits(both, 15) : hn::ShiftRight<4>(both);
      if constexpr (fifth) {
        const auto place = hn::Iota(du, static_cast<uint32_t>(i));
        bits = hn::Or(bits, hn::ShiftLeft<4>(low_bits(hn::Shr(hn::Set(du, high), place), 1)));
      }
      const auto scaled = hn::Mul(less(bits, offset), scale);
      hn::StoreU(minimum ? hn::Add(scaled, least) : scaled, d, out + i);
    }
  });
}

// The eight scales and minimums of Q4_K and Q5_K, times the block's.
struct GroupScales {
  float scale[8], minimum[8];
};
HWY_INLINE GroupScales group_scales(const std::byte* block) {
  const float d = f16_at(block), dmin = f16_at(block + 2);
  const auto low = io::load_as<uint32_t>(block + 4), middle = io::load_as<uint32_t>(block + 8);
  const auto high = io::load_as<uint32_t>(block + 12);
  // Four of six bits in each word.
  const uint32_t scales[2] = {low & 0x3f3f3f3fU, (high & 0x0f0f0f0fU) | (low >> 2 & 0x30303030U)};
  const uint32_t minimums[2] = {middle & 0x3f3f3f3fU,
                                (high >> 4 & 0x0f0f0f0fU) | (middle >> 2 & 0x30303030U)};
  GroupScales all;
  for (size_t i = 0; i < 8; ++i) {
    all.scale[i] = d * static_cast<float>(scales[i / 4] >> i % 4 * 8 & 63U);
    all.minimum[i] = dmin * static_cast<float>(minimums[i / 4] >> i % 4 * 8 & 63U);
  }
  return all;
}

// Groups of 32: of two, the first in the low four bits of 32 bytes, the second in the high ones.
template <size_t bytes, size_t quants, bool fifth>
void widen_groups(const std::byte* blocks, size_t count, float* to) {
  const FloatTag d;
  each_block<256, bytes>(blocks, count, to, [&](const std::byte* block, float* out) HWY_ATTR {
    const GroupScales all = group_scales(block);
    for (size_t pair = 0; pair < 4; ++pair) {
      const auto scale = hn::Set(d, all.scale[2 * pair]),
                 scale2 = hn::Set(d, all.scale[2 * pair + 1]);
      const auto least = hn::Set(d, all.minimum[2 * pair]);
      const auto least2 = hn::Set(d, all.minimum[2 * pair + 1]);
      for (size_t i = 0; i < 32; i += float_lanes) {
        const auto both = load_bytes(block + quants + pair * 32 + i);
        auto first = low_bits(both, 15), second = hn::ShiftRight<4>(both);
        if constexpr (fifth) {
          const auto high =
              hn::ShiftRightSame(load_bytes(block + 16 + i), static_cast<int>(2 * pair));
          first = hn::Or(first, hn::ShiftLeft<4>(low_bits(high, 1)));
          second = hn::Or(second, hn::ShiftLeft<3>(low_bits(high, 2)));
        }
        float* here = out + pair * 64 + i;
        hn::StoreU(hn::Sub(hn::Mul(to_float(first), scale), least), d, here);
        hn::StoreU(hn::Sub(hn::Mul(to_float(second), scale2), least2), d, here + 32);
      }
    }
  });
}

void widen_q2_k(const std::byte* blocks, size_t count, float* to) {
  const FloatTag d;
  each_block<256, 84>(blocks, count, to, [&](const std::byte* block, float* out) HWY_ATTR {
    const float all = f16_at(block + 80), dmin = f16_at(block + 82);
    for (size_t run = 0; run < 16; ++run) {
      const unsigned small = io::byte_at(block, run);
      const auto scale = hn::Set(d, all * static_cast<float>(small & 15U));
      const auto least = hn::Set(d, dmin * static_cast<float>(small >> 4));
      const std::byte* quants = block + 16 + run / 8 * 32 + run % 2 * 16;
      const auto shift = static_cast<int>(run % 8 / 2 * 2);
      for (size_t i = 0; i < 16; i += float_lanes) {
        const auto bits = low_bits(hn::ShiftRightSame(load_bytes(quants + i), shift), 3);
        hn::StoreU(hn::Sub(hn::Mul(to_float(bits), scale), least), d, out + run * 16 + i);
      }
    }
  });
}

void widen_q3_k(const std::byte* blocks, size_t count, float* to) {
  const FloatTag d;
  each_block<256, 110>(blocks, count, to, [&](const std::byte* block, float* out) HWY_ATTR {
    const std::byte* scales = block + 96;
    const float all = f16_at(block + 108);
    for (size_t run = 0; run < 16; ++run) {
      const unsigned low = io::byte_at(scales, run % 8) >> run / 8 * 4 & 15U;
      const unsigned high = io::byte_at(scales, 8 + run % 4) >> run / 4 * 2 & 3U;
      const auto scale =
          hn::Set(d, all * static_cast<float>(static_cast<int>(low | high << 4) - 32));
      const std::byte* quants = block + 32 + run / 8 * 32 + run % 2 * 16;
      const std::byte* mask = block + run % 2 * 16;
      const auto shift = static_cast<int>(run % 8 / 2 * 2), third = static_cast<int>(run / 2);
      for (size_t i = 0; i < 16; i += float_lanes) {
        const auto two = low_bits(hn::ShiftRightSame(load_bytes(quants + i), shift), 3);
        const auto one = low_bits(hn::ShiftRightSame(load_bytes(mask + i), third), 1);
        hn::StoreU(hn::Mul(less(hn::Or(two, hn::ShiftLeft<2>(one)), 4), scale), d,
                   out + run * 16 + i);
      }
    }
  });
}

void widen_q6_k(const std::byte* blocks, size_t count, float* to) {
  const FloatTag d;
  each_block<256, 210>(blocks, count, to, [&](const std::byte* block, float* out) HWY_ATTR {
    const float all = f16_at(block + 208);
    for (size_t run = 0; run < 16; ++run) {
      const auto scale =
          hn::Set(d, all * static_cast<float>(io::load_as<int8_t>(block + 192 + run)));
      const std::byte* low = block + run / 8 * 64 + run % 4 * 16;
      const std::byte* high = block + 128 + run / 8 * 32 + run % 2 * 16;
      const auto shift = static_cast<int>(run % 8 / 4 * 4), two = static_cast<int>(run % 8 / 2 * 2);
      for (size_t i = 0; i < 16; i += float_lanes) {
        const auto four = low_bits(hn::ShiftRightSame(load_bytes(low + i), shift), 15);
        const auto rest = low_bits(hn::ShiftRightSame(load_bytes(high + i), two), 3);
        hn::StoreU(hn::Mul(less(hn::Or(four, hn::ShiftLeft<4>(rest)), 32), scale), d,
                   out + run * 16 + i);
      }
    }
  });
}

// Numbers of 8 bits with `mantissa` bits. Subnormals are made of integers: processors that flush
// subnormals of fp32 would lose them otherwise.
template <int mantissa>
HWY_INLINE FloatVec widen_fp8(UnsignedVec byte) {
  const FloatTag d;
  const UnsignedTag du;
  constexpr int bias = mantissa == 3 ? 7 : 15;
  constexpr uint32_t special = mantissa == 3 ? 0x7f : 0x7c;  // from here on NaN, or infinite
  const auto size = low_bits(byte, 0x7f);
  const auto sign = hn::ShiftLeft<24>(low_bits(byte, 0x80));
  const auto shifted = hn::ShiftLeft<23 - mantissa>(size);
  auto bits = hn::Add(shifted, hn::Set(du, static_cast<uint32_t>(127 - bias) << 23));
  const auto unit = hn::Set(du, static_cast<uint32_t>(128 - bias - mantissa) << 23);
  const auto subnormal = hn::BitCast(du, hn::Mul(to_float(size), hn::BitCast(d, unit)));
  bits = hn::IfThenElse(hn::Lt(size, hn::Set(du, 1u << mantissa)), subnormal, bits);
  const auto not_finite =
      mantissa == 3 ? hn::Set(du, 0x7fc00000u) : hn::Or(shifted, hn::Set(du, 0x7f800000u));
  bits = hn::IfThenElse(hn::Lt(size, hn::Set(du, special)), bits, not_finite);
  return hn::BitCast(d, hn::Or(bits, sign));
}

template <int mantissa>
void widen_all_fp8(const std::byte* bytes, size_t count, float* to) {
  const FloatTag d;
  size_t i = 0;
  for (; i + float_lanes <= count; i += float_lanes)
    hn::StoreU(widen_fp8<mantissa>(load_bytes(bytes + i)), d, to + i);
  for (; i < count; ++i) {
    const auto byte = hn::Set(UnsignedTag(), io::byte_at(bytes, i));
    to[i] = hn::GetLane(widen_fp8<mantissa>(byte));
  }
}

BlockWidener widener_of(uint32_t type) {
  switch (type) {
    case 2:
      return widen_32<18, 2, false, false>;  // Q4_0
    case 3:
      return widen_32<20, 4, false, true>;  // Q4_1
    case 6:
      return widen_32<22, 6, true, false>;  // Q5_0
    case 7:
      return widen_32<24, 8, true, true>;  // Q5_1
    case 8:
      return widen_q8_0;
    case 10:
      return widen_q2_k;
    case 11:
      return widen_q3_k;
    case 12:
      return widen_groups<144, 16, false>;  // Q4_K
    case 13:
      return widen_groups<176, 48, true>;  // Q5_K
    case 14:
      return widen_q6_k;
    default:
      return nullptr;
  }
}

BlockWidener fp8_widener_of(bool e4m3) {
  return e4m3 ? widen_all_fp8<3> : widen_all_fp8<2>;
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace omnirt::cpu {

HWY_EXPORT(widener_of);
HWY_EXPORT(fp8_widener_of);

BlockWidener block_widener(uint32_t ggml_type) {
  return HWY_DYNAMIC_DISPATCH(widener_of)(ggml_type);
}
BlockWidener fp8_widener(bool e4m3) {
  return HWY_DYNAMIC_DISPATCH(fp8_widener_of)(e4m3);
}

}  // namespace omnirt::cpu
#endif
