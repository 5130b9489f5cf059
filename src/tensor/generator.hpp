#pragma once
#include <ATen/core/Generator.h>

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace omnirt {

// The noise of a batch of n images: one CPU generator per image, so that image i of a batch
// gets the draws that it would get alone (in diffusers: a list of generators). Draws are fp32 on
// the CPU whatever the backend or dtype.
class Noise {
 public:
  explicit Noise(std::span<const uint64_t> seeds);
  // One generator for each of these states, [n, bytes] uint8, as `state` gives them.
  static Noise from_state(const Tensor& state);
  // Generators of their own that will draw the same.
  Noise copy() const { return from_state(state()); }

  // Standard normal of `shape` {n, ...}: each generator draws {1, ...}. shape[0] must be n (or 1 x
  // n rows when n = 1).
  Tensor randn(at::IntArrayRef shape);
  size_t size() const { return generators_.size(); }

  // All generators' states, [n, bytes] uint8, for saving a run and continuing elsewhere.
  Tensor state() const;
  void set_state(const Tensor& state);

 private:
  std::vector<at::Generator> generators_;
};

}  // namespace omnirt
