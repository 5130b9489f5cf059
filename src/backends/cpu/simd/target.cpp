#include "backends/cpu/simd/target.hpp"

#define OMNIRT_WANT_VNNI
#include "backends/cpu/simd/targets.h"
// After the lines above, which say what is built.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cstdlib>

#include "backends/cpu/simd/amx.hpp"
#include "backends/cpu/simd/bf16_product.hpp"
#include "base/error.hpp"

namespace omnirt::cpu {
namespace {

constexpr const char* variable = "OMNIRT_CPU_TARGET";

struct KnownTarget {
  const char* name;
  int64_t added;  // Highway's targets that this one has and the one before it has not; or:
  bool (*is_there)() = nullptr;
};

bool has_amx() {
  return machine_amx().int8 || machine_amx().bf16;
}

#if HWY_ARCH_X86
#ifdef HWY_AVX3_ZEN4  // Highway 1.0.5 and later
constexpr int64_t vnni = HWY_AVX3_DL | HWY_AVX3_ZEN4;
#else
constexpr int64_t vnni = HWY_AVX3_DL;
#endif
constexpr KnownTarget known[] = {{"baseline", HWY_STATIC_TARGET},
                                 {"sse4", HWY_SSE4},
                                 {"avx2", HWY_AVX2},
                                 {"avx512", HWY_AVX3},
                                 {"avx512_vnni", vnni},
                                 {"avx512_bf16", 0, &machine_bf16},
                                 {"amx", 0, &has_amx}};
#else
constexpr KnownTarget known[] = {{"baseline", HWY_STATIC_TARGET}};
#endif

bool is_available(const KnownTarget& target) {
  if (target.is_there) return target.is_there();
  return (hwy::SupportedTargets() & HWY_TARGETS & target.added) != 0;
}

// Highway has no other switch that lasts: what DisableTargets hides is seen again after the next
// SupportedTargets (up to 1.2).
void hold_dispatch(const std::string& name) {
  int64_t allowed = 0;
  for (const KnownTarget& target : known) {
    allowed |= target.added;
    if (name == target.name) break;
  }
  hwy::SetSupportedTargetsForTest(hwy::SupportedTargets() & (allowed | HWY_STATIC_TARGET));
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

void check(const std::string& value, const std::vector<std::string>& available) {
  if (std::ranges::find(available, value) != available.end()) return;
  auto same = [&](const KnownTarget& target) { return value == target.name; };
  const char* what = std::ranges::any_of(known, same) ? "not on this machine" : "no such target";
  throw InvalidRequest({variable, value,
                        fmt::format("{}; this machine has {}", what, fmt::join(available, ", ")),
                        "unset it, or name one of these"});
}

Targets read_targets() {
  Targets found;
  for (const KnownTarget& target : known) {
    if (is_available(target)) found.available.emplace_back(target.name);
  }
  found.used = found.available.back();
  const char* value = std::getenv(variable);
  if (!value || !*value) return found;
  check(value, found.available);
  found.used = value;
  found.limited = true;
  hold_dispatch(found.used);
  return found;
}

}  // namespace

const Targets& targets() {
  static const Targets found = read_targets();
  return found;
}

}  // namespace omnirt::cpu
