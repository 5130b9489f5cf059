#include "backends/cpu/simd/amx.hpp"

#include "backends/cpu/simd/target.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#endif

namespace omnirt::cpu {
#if defined(__x86_64__) && defined(__linux__)
namespace {

// "Intel 64 and IA-32 Architectures Software Developer's Manual", LDTILECFG: palette 1.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfig tile_config;

// A process has to ask for the unit's 8 KB of state (Linux 5.16 and later).
bool ask_for_tiles() {
#ifdef SYS_arch_prctl
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

AmxFeatures find_features() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned bf16_bit = 1u << 22, tile_bit = 1u << 24, int8_bit = 1u << 25;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & tile_bit) || !ask_for_tiles()) return {};
  return {(d & int8_bit) != 0, (d & bf16_bit) != 0};
}

}  // namespace

AmxFeatures machine_amx() {
  static const AmxFeatures features = find_features();
  return features;
}

void amx_begin() {
  asm volatile("ldtilecfg %0" ::"m"(tile_config));
}
void amx_end() {
  asm volatile("tilerelease");
}

#else

AmxFeatures machine_amx() {
  return {};
}
void amx_begin() {}
void amx_end() {}

#endif

AmxFeatures amx_features() {
  return targets().used == "amx" ? machine_amx() : AmxFeatures{};
}

}  // namespace omnirt::cpu
