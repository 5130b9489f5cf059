#include <fmt/format.h>

#include "ops/grouped_conv2d.hpp"
#include "ops/samples/sampler.hpp"

namespace omnirt::ops {
namespace {

struct GroupedSize {
  int64_t in, out, groups, kernel, height, width;
};

constexpr GroupedSize grouped_sizes[] = {{8, 8, 8, 3, 9, 7},
                                         {24, 24, 24, 5, 3, 2},
                                         {24, 24, 6, 1, 5, 4},
                                         {6, 12, 3, 3, 1, 1},
                                         {64, 64, 64, 3, 16, 16}};

}  // namespace

Samples<GroupedConv2d> GroupedConv2d::samples() {
  Samples<GroupedConv2d> all;
  for (const GroupedSize& size : grouped_sizes) {
    all.push_back(
        {fmt::format("{} to {} in {} groups, kernel {}", size.in, size.out, size.groups,
                     size.kernel),
         [size](Sampler& make, const auto& use) {
           Tensor x = make.numbers({2, size.in, size.height, size.width});
           Tensor weight = make.weight({size.out, size.in / size.groups, size.kernel, size.kernel});
           Tensor bias = make.numbers({size.out}), last = in_channels_last(x);
           use({x, weight, &bias, size.groups});
           use({last, weight, &bias, size.groups});
           use({last, weight, nullptr, size.groups});
         }});
  }
  return all;
}

}  // namespace omnirt::ops
