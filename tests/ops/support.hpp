#pragma once
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/op_table.hpp"

namespace omnirt::testing {

// Numbers of a fixed sequence, about standard normal.
inline Tensor numbers(at::IntArrayRef shape, uint64_t seed = 1) {
  auto generator = at::detail::createCPUGenerator(seed);
  return at::randn(shape, generator, at::kFloat);
}

// x in the channels-last layout, where it has four dimensions.
inline Tensor channels_last(const Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}

// What the reference computes; its shape must be the shape rule's.
template <class Args>
Tensor computed(const Args& args) {
  Tensor y = Args::reference(args);
  EXPECT_EQ(y.sizes().vec(), Args::shape(args)) << Args::name;
  return y;
}

// Expected values come from sums in fp64, so what differs is the rounding of fp32: some ulps of the
// largest value in the sum.
inline void expect_close(const Tensor& actual, const Tensor& expected, double tolerance = 2e-6) {
  ASSERT_EQ(actual.sizes(), expected.sizes());
  Tensor wanted = expected.to(at::kDouble);
  double largest = std::max(wanted.abs().max().item<double>(), 1.0);
  double off = (actual.to(at::kDouble) - wanted).abs().max().item<double>() / largest;
  EXPECT_LT(off, tolerance);
}

}  // namespace omnirt::testing
