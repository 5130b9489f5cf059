#pragma once
#include "backends/cpu/simd/targets.h"
// The kernels' targets must be chosen before Highway is seen.
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include "backends/cpu/simd/split_kernels.hpp"
#include "backends/cpu/simd/split_product.hpp"
#include "backends/cpu/simd/thread_team.hpp"

// What the tests of split products share.
namespace omnirt::cpu {

// Each SIMD target with the portable product, and the unit where there is one; of numbers split in
// two, or of rounded ones.
template <class Body>
void for_each_way(const Body& body, bool rounded = false) {
  const auto kernels = rounded ? &rounded_kernels : &split_kernels;
  const bool unit = rounded ? rounded_available() : split_available();
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
    body(kernels(false));
    if (!unit) continue;
    SCOPED_TRACE("by the processor's unit");
    body(kernels(true));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

}  // namespace omnirt::cpu
