#pragma once
#include "request/request.hpp"

namespace omnirt::testing {

// How far apart the last bits of the networks' layers can have taken the latents after call `step`,
// relative to the largest value: the references' run again and again with these moved (LastBits),
// until one has gone half of `error`, or there were many.
double reach_of_last_bits(GenerateRequest request, size_t step, double error);

}  // namespace omnirt::testing
