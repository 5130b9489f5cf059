#pragma once
#include "ops/op.hpp"

namespace omnirt::ops {

// y = conv(x, weight) + bias, where each of `groups` equal parts of the output's channels sees one
// of the input's: as many groups as channels is a depthwise convolution. x {B, C, H, W}, weight {O,
// C / groups, k, k}, k odd, bias {O}; y {B, O, H, W}: stride 1, zeros around x.
struct GroupedConv2d {
  static constexpr const char* name = "grouped_conv2d";
  static constexpr const char* summary = "y = conv(x, weight) + bias, by groups of channels";
  const Tensor& x;
  const Tensor& weight;
  const Tensor* bias = nullptr;
  int64_t groups = 1;
  static Shape shape(const GroupedConv2d& args) {
    return {args.x.size(0), args.weight.size(0), args.x.size(2), args.x.size(3)};
  }
  static Tensor reference(const GroupedConv2d& args);
  static bool fits(const GroupedConv2d& args);
  static Samples<GroupedConv2d> samples();
};

}  // namespace omnirt::ops
