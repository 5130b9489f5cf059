#pragma once
#include <vector>

#include "ops/op_table.hpp"

namespace omnirt::ops {

// Makes the tensors of sample arguments: on a device, in the types that a run would have, with the
// same numbers for the same calls.
class Sampler {
 public:
  // `weight`: the type that matrices and filters are stored in, which may be narrower.
  struct Place {
    at::Device device = at::kCPU;
    at::ScalarType dtype = at::kFloat;
    at::ScalarType weight = at::kFloat;
  };
  explicit Sampler(Place place) : place_(place) {}
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  virtual ~Sampler() = default;

  // About standard normal, times `scale`.
  Tensor numbers(at::IntArrayRef sizes, double scale = 1);
  // The same in the type of stored weights: rows whose products with standard normal numbers are
  // about standard normal.
  Tensor weight(at::IntArrayRef sizes);
  // int64, from 0 to below - 1.
  Tensor integers(at::IntArrayRef sizes, int64_t below);
  at::ScalarType dtype() const { return place_.dtype; }

 protected:
  // What becomes of each tensor that is made; tests change its size.
  virtual Tensor made(Tensor x) { return x; }

 private:
  Tensor drawn(at::IntArrayRef sizes);

  Place place_;
  uint64_t count_ = 0;
};

// x {B, C, H, W} in channels-last order.
inline Tensor in_channels_last(const Tensor& x) {
  return x.dim() == 4 ? x.contiguous(at::MemoryFormat::ChannelsLast) : x;
}

}  // namespace omnirt::ops
