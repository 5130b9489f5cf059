#pragma once
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstdint>

namespace omnirt::testing {

// Monte Carlo arithmetic (Parker, Pierce and Eggert 2000) over torch: while one of these lives,
// each value that comes out of a torch kernel whose last bit is the machine's own is moved by -1, 0
// or 1 ulp, at random. Such kernels are the functions that IEEE 754 does not fix (torch takes sqrt,
// log, exp and tanh from MKL, which has other code for each processor and promises less than one
// ulp; sigmoid and the normal distribution come from SLEEF or the C library) and those that add or
// multiply in another order or with fused steps where vectors are wider (a network's layers;
// linspace, lerp, mean, quantile, solve). What the rest computes (+, -, *, / and the product of all
// betas, which torch multiplies in double one after the other) is the same everywhere. Of this
// thread alone.
class LastBits {
 public:
  explicit LastBits(uint32_t seed);

 private:
  c10::impl::IncludeDispatchKeyGuard guard_;
};

}  // namespace omnirt::testing
