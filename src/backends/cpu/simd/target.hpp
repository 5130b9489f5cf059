#pragma once
#include <string>
#include <vector>

namespace omnirt::cpu {

// The instruction sets that kernels are built for, from the least up: baseline (what the compiler's
// own flags allow), and on x86 sse4, avx2, avx512, avx512_vnni, avx512_bf16 (products of bf16, with
// dtype bf16 and matmul_precision medium alone) and amx (the matrix unit). Each includes those
// before it that the machine has.
struct Targets {
  std::vector<std::string> available;  // of this build on this machine; at least baseline
  std::string used;                    // what the kernels run by
  bool limited = false;                // `used` is what OMNIRT_CPU_TARGET says
};

// Reads OMNIRT_CPU_TARGET when first called, and holds every kernel to it from then on: to be
// called before any kernel runs. Throws InvalidRequest that names the variable where its value is
// no target, or one that this machine lacks. Thread-safe.
const Targets& targets();

}  // namespace omnirt::cpu
