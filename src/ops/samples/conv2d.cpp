#include <fmt/format.h>

#include "ops/samples/sampler.hpp"

namespace omnirt::ops {
namespace {

struct ConvSize {
  int64_t batch, in, out, height, width, kernel, stride;
  std::array<int64_t, 4> padding;
  std::array<int64_t, 2> up{0, 0};

  std::string text() const {
    return fmt::format("{} x {} x {} x {} to {}, kernel {}, stride {}{}", batch, in, height, width,
                       out, kernel, stride, up[0] > 0 ? ", upsampled" : "");
  }
  Shape result() const {
    int64_t high = (up[0] > 0 ? up[0] : height) + padding[2] + padding[3];
    int64_t wide = (up[0] > 0 ? up[1] : width) + padding[0] + padding[1];
    return {batch, out, (high - kernel) / stride + 1, (wide - kernel) / stride + 1};
  }
};

constexpr ConvSize conv_sizes[] = {{1, 4, 32, 8, 8, 3, 1, {1, 1, 1, 1}},
                                   {2, 32, 48, 16, 16, 3, 1, {1, 1, 1, 1}},
                                   {2, 33, 17, 9, 13, 3, 1, {1, 1, 1, 1}},
                                   {1, 64, 64, 8, 8, 3, 1, {1, 1, 1, 1}, {16, 16}},
                                   {1, 64, 40, 9, 7, 3, 1, {1, 1, 1, 1}, {17, 13}},
                                   {2, 32, 64, 16, 16, 3, 2, {1, 1, 1, 1}},
                                   {1, 32, 32, 15, 16, 3, 2, {0, 1, 0, 1}},
                                   {2, 48, 24, 10, 6, 1, 1, {0, 0, 0, 0}},
                                   {1, 128, 3, 20, 20, 3, 1, {1, 1, 1, 1}},
                                   {1, 3, 16, 12, 12, 5, 1, {2, 2, 2, 2}}};

// Each argument that may be absent, alone and with the others.
void use_all(Sampler& make, const ConvSize& size, Tensor x,
             const std::function<void(const Conv2d&)>& use) {
  Tensor weight = make.weight({size.out, size.in, size.kernel, size.kernel});
  Tensor bias = make.numbers({size.out}), sample_bias = make.numbers({size.batch, size.out});
  Tensor residual = in_channels_last(make.numbers(size.result()));
  Tensor scale = make.numbers({size.in}), shift = make.numbers({size.in});
  const int64_t groups = size.in % 4 == 0 ? 4 : 1;
  InputNorm norm{&scale, &shift, groups, 1e-5, Activation::silu};
  InputNorm plain_norm{nullptr, nullptr, groups, 1e-5};
  Conv2d args{.x = x,
              .weight = weight,
              .stride = size.stride,
              .padding = size.padding,
              .upsample_to = size.up};
  use(args);
  args.bias = &bias;
  use(args);
  args.sample_bias = &sample_bias;
  args.activation = Activation::silu;
  use(args);
  args.residual = &residual;
  args.activation = Activation::none;
  use(args);
  args.norm = &norm;
  use(args);
  args.bias = nullptr;
  args.sample_bias = nullptr;
  args.norm = &plain_norm;
  use(args);
}

}  // namespace

Samples<Conv2d> Conv2d::samples() {
  Samples<Conv2d> all;
  for (const ConvSize& size : conv_sizes) {
    all.push_back({size.text(), [size](Sampler& make, const auto& use) {
                     Tensor x = make.numbers({size.batch, size.in, size.height, size.width});
                     use_all(make, size, in_channels_last(x), use);
                   }});
  }
  all.push_back({"not channels last", [](Sampler& make, const auto& use) {
                   use_all(make, conv_sizes[1], make.numbers({2, 32, 16, 16}), use);
                 }});
  return all;
}

}  // namespace omnirt::ops
