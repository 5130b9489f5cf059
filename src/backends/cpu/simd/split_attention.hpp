#pragma once
#include "backends/cpu/simd/attention.hpp"

namespace omnirt::cpu {

struct SplitKernels;

// attention (attention.hpp) with both products of numbers split into two bf16 (split_product.hpp),
// for machines that have the unit (split_available). No bias, not causal, no key_counts. Results
// are right to about 1e-5 of the values' size. An infinity in v may become a NaN.
// Scratch, kept by the team: about 8 MB that all share, or one head's keys and values where these
// are more; about 0.5 MB per thread.
void attention_split(const AttentionArgs& args);
// The same of numbers rounded to bf16 (rounded_available): right to about 1e-2 of the values' size.
void attention_rounded(const AttentionArgs& args);
// The same with given kernels, for tests.
void attention_split(const SplitKernels& kernels, const AttentionArgs& args);

}  // namespace omnirt::cpu
