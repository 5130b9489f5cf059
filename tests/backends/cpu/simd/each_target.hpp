#pragma once
#include "backends/cpu/simd/target.hpp"
#include "backends/cpu/simd/targets.h"
// The kernels' targets must be chosen before Highway is seen.
#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

namespace omnirt::cpu {

// Runs `check` once for each SIMD target that the kernels are built for and this machine has, each
// time with the dispatch forced to that target.
template <class Check>
void each_target(const Check& check) {
  targets();  // reads OMNIRT_CPU_TARGET, which a target that is forced would hide
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

}  // namespace omnirt::cpu
