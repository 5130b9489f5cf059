#include "ops/samples/sampler.hpp"

namespace omnirt::ops {
namespace {

// An image of odd sides in each order of its dimensions, and tokens.
template <class Body>
void each_layout(Sampler& make, const Body& body) {
  Tensor image = make.numbers({2, 20, 7, 9});
  body(in_channels_last(image));
  body(image);
  body(make.numbers({2, 5, 12}));
  body(make.numbers({12, 5}).t());
}

template <class Args, class Body>
Samples<Args> in_each_layout(const Body& body) {
  return {{"each layout", [body](Sampler& make, const auto& use) {
             each_layout(make, [&](const Tensor& x) { body(x, use); });
           }}};
}

}  // namespace

Samples<Activate> Activate::samples() {
  return in_each_layout<Activate>([](const Tensor& x, const auto& use) {
    for (Activation kind :
         {Activation::none, Activation::silu, Activation::gelu, Activation::gelu_tanh,
          Activation::quick_gelu, Activation::relu, Activation::leaky_relu}) {
      use({x, kind});
    }
  });
}

Samples<Geglu> Geglu::samples() {
  return {{"6 values", [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 5, 6});
             use({x});
             use({x.transpose(0, 1)});
           }}};
}

Samples<Swiglu> Swiglu::samples() {
  return {{"6 and 80 values", [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 5, 6}), wide = make.numbers({2, 9, 180});
             use({x});
             use({x.transpose(0, 1)});
             use({wide.narrow(2, 10, 160)});
             use({wide.select(0, 1).narrow(1, 20, 80)});
           }}};
}

Samples<SoftClamp> SoftClamp::samples() {
  return in_each_layout<SoftClamp>([](const Tensor& x, const auto& use) { use({x, 3.0}); });
}

Samples<Affine> Affine::samples() {
  return in_each_layout<Affine>([](const Tensor& x, const auto& use) { use({x, 2.0, -1.0}); });
}

Samples<Add> Add::samples() {
  return {{"images",
           [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 20, 6, 7}), other = make.numbers({2, 20, 6, 7});
             use({x, other});
             use({in_channels_last(x), in_channels_last(other), 0.5});
             use({in_channels_last(x), other, 0.5});
           }},
          {"a term of each channel", [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 20, 6, 7}), other = make.numbers({2, 20, 1, 1});
             use({in_channels_last(x), other, 2});
             use({x, other.select(0, 0)});
           }}};
}

Samples<Concat> Concat::samples() {
  return {{"images",
           [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 20, 6, 7}), other = make.numbers({2, 11, 6, 7});
             use({x, other});
             use({in_channels_last(x), in_channels_last(other)});
             use({in_channels_last(x), other});
           }},
          {"tokens", [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 5, 3}), other = make.numbers({2, 4, 3});
             use({x, other});
           }}};
}

Samples<Modulate> Modulate::samples() {
  return {{"terms of each channel",
           [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 20, 6, 7}), terms = make.numbers({2, 40, 1, 1});
             auto halves = terms.chunk(2, 1);
             if (halves.size() < 2) return;
             use({in_channels_last(x), halves[0], halves[1]});
             use({x, halves[0], halves[1]});
             use({in_channels_last(x), halves[0], halves[1].contiguous()});
           }},
          {"terms of each value", [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 5, 12});
             Tensor scale = make.numbers({2, 1, 12}), shift = make.numbers({2, 1, 12});
             use({x, scale, shift});
             use({x, scale.narrow(0, 1, 1), shift.narrow(0, 0, 1)});
             Tensor terms = make.numbers({2, 1, 24});
             use({x, terms.narrow(2, 0, 12), terms.narrow(2, 12, 12)});
             use({x.transpose(0, 1), scale.transpose(0, 1), shift.transpose(0, 1)});
           }}};
}

Samples<Gate> Gate::samples() {
  return {{"tokens",
           [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 5, 12}), gate = make.numbers({2, 1, 12});
             Tensor residual = make.numbers({2, 5, 12});
             use({x, gate});
             use({x, gate, &residual});
           }},
          {"tokens by parts of one product",
           [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 40, 33}), gates = make.numbers({2, 1, 99});
             Tensor residual = make.numbers({2, 40, 33});
             use({x, gates.narrow(2, 33, 33), &residual});
             use({x, gates.narrow(0, 1, 1).narrow(2, 0, 33), &residual});
             use({x.transpose(0, 1), gates.narrow(2, 33, 33).transpose(0, 1)});
           }},
          {"value by value", [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 40, 33}), gate = make.numbers({2, 40, 33});
             use({x, gate});
             use({x, gate, &gate});
             use({x.transpose(0, 1), gate.transpose(0, 1)});
           }}};
}

Samples<AvgPool2d> AvgPool2d::samples() {
  return {{"windows that leave a rest", [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 20, 7, 9});
             for (int64_t size : {1, 2, 3}) {
               use({in_channels_last(x), size});
               use({x, size});
             }
           }}};
}

Samples<UpsampleNearest> UpsampleNearest::samples() {
  return {{"larger and smaller", [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 20, 6, 8});
             for (const Tensor& layout : {in_channels_last(x), x}) {
               use({layout, 13, 16});
               use({layout, 12, 16});
               use({layout, 3, 5});
             }
           }}};
}

Samples<GaussianSample> GaussianSample::samples() {
  return {{"a row each",
           [](Sampler& make, const auto& use) {
             Tensor mean = make.numbers({2, 4, 3, 5}), logvar = make.numbers({2, 4, 3, 5}, 20);
             use({mean, logvar, make.numbers({2, 4, 3, 5})});
           }},
          {"a row for all", [](Sampler& make, const auto& use) {
             Tensor mean = make.numbers({1, 4, 3, 5}), logvar = make.numbers({1, 4, 3, 5});
             use({mean, logvar, make.numbers({2, 4, 3, 5})});
           }}};
}

Samples<SwapRows> SwapRows::samples() {
  return {{"3 frames", [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({6, 5, 4});
             use({x, 3});
             use({x, 6});
           }}};
}

Samples<TakeRows> TakeRows::samples() {
  return {{"rows again and in order", [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({3, 5, 4});
             for (const std::vector<int64_t>& rows :
                  {std::vector<int64_t>{0, 0, 2}, {1, 2}, {2}, {2, 1, 0, 1, 0}})
               use({x, rows});
           }}};
}

Samples<Blend> Blend::samples() {
  return {{"frames", [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 5, 4}), other = make.numbers({2, 5, 4});
             Tensor mix = make.numbers({1});
             use({x, other, mix});
             use({x, other, mix, /*switched=*/true});
           }}};
}

}  // namespace omnirt::ops
