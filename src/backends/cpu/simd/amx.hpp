#pragma once
#include <cstddef>

// The matrix unit of recent x86 servers (AMX): eight tiles of 16 rows of 64 bytes, and products of
// two tiles added to a third. Highway 1.0 has no target for it.
namespace omnirt::cpu {

struct AmxFeatures {
  bool int8 = false, bf16 = false;
};

// Asks the system for the unit once; nothing where processor, system or build do not have it.
AmxFeatures machine_amx();
// What of it kernels may use: nothing where OMNIRT_CPU_TARGET (target.hpp) says so.
AmxFeatures amx_features();

// Tiles belong to a thread: configured before its products, released after (a released unit costs
// nothing at a context switch).
void amx_begin();
void amx_end();

#if defined(__x86_64__) && defined(__linux__)
// Assembly, for intrinsics would need the whole file (and what it includes) built for this unit.
template <int tile>
inline void load_tile(const void* from, size_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(tile) : "memory");
}
template <int tile>
inline void store_tile(void* to, size_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(tile) : "memory");
}
template <int tile>
inline void clear_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(tile));
}
#endif

}  // namespace omnirt::cpu
