#pragma once
#include <array>

#include "base/choice.hpp"

// How the numbers of a run are computed, as requests ask it of a backend.
namespace omnirt {

// Whether kernels keep weights in further forms: where it pays, within a budget; never; or wherever
// a kernel has such a form.
enum class PackPolicy { automatic, never, always };

// Linear layers and convolutions over weights and activations of eight bits. automatic: where the
// weight's file holds it so; none: numbers as they are, widened; int8: all, rounded where they are
// not.
enum class Quantization { automatic, none, int8 };

// How products of fp32 matrices may be computed, in torch.set_float32_matmul_precision's words:
// medium, numbers rounded to bf16 (8 bits), in linear layers and attention, where the processor
// multiplies these faster; high, each number as the sum of two bf16 ones (16 of fp32's 24 bits)
// where it has a matrix unit for these; highest, in fp32. Each may be more exact than its name,
// where the processor lacks the unit.
enum class MatmulPrecision { medium, high, highest };

template <>
struct ChoiceNames<PackPolicy> {
  static constexpr std::array names{"auto", "never", "always"};
};
template <>
struct ChoiceNames<Quantization> {
  static constexpr std::array names{"auto", "none", "int8"};
};
template <>
struct ChoiceNames<MatmulPrecision> {
  static constexpr std::array names{"medium", "high", "highest"};
};

}  // namespace omnirt
