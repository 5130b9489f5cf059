#pragma once
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace omnirt::testing {

// The numbers that torch.randn draws on the CPU from one seed. They are computed with IEEE
// additions, multiplications, divisions and square roots alone, so every processor gets the same
// bits; torch's own last bits depend on the processor's vector units.
class NormalStream {
 public:
  explicit NormalStream(uint32_t seed) : engine_(seed) {}

  // A tensor of 16 values or more, whose first value takes draw number `draw` of the generator.
  std::vector<float> values(size_t draw, size_t count);

 private:
  void fill_block(size_t draw, float* block);
  void reach(size_t draws);

  std::mt19937 engine_;
  std::vector<uint32_t> draws_;
};

}  // namespace omnirt::testing
