// Which SIMD targets the kernels are built for: to be included before any Highway header. AVX-512,
// AVX2, SSE4, and the portable one that the compiler's own flags allow (scalar or EMU128 on plain
// x86-64, NEON on Arm). Those left out would only add compile time.
// A file that wants VNNI defines OMNIRT_WANT_VNNI first. With OMNIRT_FEW_TARGETS, as builds with
// sanitizers have it, AVX2 and the portable one are all.
#pragma once
#if defined(OMNIRT_FEW_TARGETS)
#define HWY_DISABLED_TARGETS \
  (HWY_AVX3_DL | HWY_AVX3 | HWY_SSE4 | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#elif defined(OMNIRT_WANT_VNNI)
#define HWY_WANT_AVX3_DL
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#else
#define HWY_DISABLED_TARGETS \
  (HWY_AVX3_DL | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
