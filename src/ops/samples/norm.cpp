#include <fmt/format.h>

#include "ops/samples/sampler.hpp"

namespace omnirt::ops {

Samples<GroupNorm> GroupNorm::samples() {
  Samples<GroupNorm> all;
  for (const auto& map : {std::pair<int64_t, int64_t>{12, 4}, {32, 32}, {320, 32}}) {
    const int64_t channels = map.first, groups = map.second;
    all.push_back({fmt::format("{} channels in {} groups", channels, groups),
                   [channels, groups](Sampler& make, const auto& use) {
                     Tensor x = make.numbers({2, channels, 9, 7}, 3) + 2;
                     Tensor weight = make.numbers({channels}), bias = make.numbers({channels});
                     Tensor last = in_channels_last(x);
                     use({last, &weight, &bias, groups, 1e-5});
                     use({last, &weight, &bias, groups, 1e-6, Activation::silu});
                     use({last, nullptr, nullptr, groups, 1e-5});
                     use({x, &weight, &bias, groups, 1e-5});
                     use({x.flatten(2), &weight, &bias, groups, 1e-5});
                   }});
  }
  return all;
}

Samples<LayerNorm> LayerNorm::samples() {
  Samples<LayerNorm> all;
  for (int64_t width : {1, 13, 320}) {
    all.push_back({fmt::format("{} values", width), [width](Sampler& make, const auto& use) {
                     Tensor x = make.numbers({2, 5, width}, 3) + 2;
                     Tensor weight = make.numbers({width}), bias = make.numbers({width});
                     use({x, &weight, &bias, 1e-5});
                     use({x, &weight, nullptr, 1e-5});
                     use({x, nullptr, nullptr, 1e-5});
                     use({x.transpose(0, 1), &weight, &bias, 1e-6});
                   }});
  }
  return all;
}

Samples<RmsNorm> RmsNorm::samples() {
  Samples<RmsNorm> all;
  for (int64_t width : {3, 64}) {
    all.push_back({fmt::format("{} values", width), [width](Sampler& make, const auto& use) {
                     Tensor x = make.numbers({2, 5, width}, 3), weight = make.numbers({width});
                     use({x, weight, 1e-6});
                   }});
  }
  all.push_back({"heads of a part of one product", [](Sampler& make, const auto& use) {
                   Tensor x = make.numbers({2, 5, 9, 24}, 3), weight = make.numbers({24});
                   use({x.narrow(2, 3, 3), weight, 1e-5});
                   use({x.transpose(1, 2), weight, 1e-5});
                   use({x.narrow(2, 3, 3).flatten(0, 1), weight, 1e-5});
                 }});
  return all;
}

Samples<BatchNorm> BatchNorm::samples() {
  return {{"there and back", [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 12, 5, 3}, 3);
             Tensor mean = make.numbers({12}), variance = make.numbers({12}).square();
             use({x, mean, variance, 1e-4, false});
             use({in_channels_last(x), mean, variance, 1e-4, true});
             use({x.flatten(2), mean, variance, 1e-5, true});
           }}};
}

}  // namespace omnirt::ops
