#include <fmt/format.h>

#include "ops/samples/sampler.hpp"

namespace omnirt::ops {
namespace {

// Rows of each of two samples, and the sides of the matrix. The larger ones are those that kernels
// for the matrix units of processors want.
struct DenseSize {
  int64_t rows, in, out;
  std::string text() const { return fmt::format("{} x {} to {}", rows, in, out); }
};

constexpr DenseSize dense_sizes[] = {{1, 1, 1},     {3, 7, 5},      {64, 40, 160},  {77, 768, 320},
                                     {130, 33, 65}, {130, 320, 96}, {2, 320, 1280}, {257, 64, 33}};

}  // namespace

Samples<Linear> Linear::samples() {
  Samples<Linear> all;
  for (const DenseSize& size : dense_sizes) {
    all.push_back({size.text(), [size](Sampler& make, const auto& use) {
                     Tensor x = make.numbers({2, size.rows, size.in});
                     Tensor weight = make.weight({size.out, size.in});
                     Tensor bias = make.numbers({size.out});
                     Tensor residual = make.numbers({2, size.rows, size.out});
                     use({x, weight});
                     use({x, weight, &bias, Activation::quick_gelu});
                     use({x, weight, nullptr, Activation::silu, &residual});
                     use({x, weight, &bias, Activation::none, &residual});
                   }});
  }
  all.push_back({"rows of an image, a view", [](Sampler& make, const auto& use) {
                   Tensor x = make.numbers({3, 6, 4, 5}), weight = make.weight({2, 6});
                   use({x.permute({0, 2, 3, 1}), weight});
                 }});
  all.push_back({"one row", [](Sampler& make, const auto& use) {
                   Tensor x = make.numbers({1, 16}), weight = make.weight({8, 16});
                   Tensor bias = make.numbers({8});
                   use({x, weight, &bias, Activation::gelu_tanh});
                   use({x.squeeze(0), weight, &bias});
                 }});
  return all;
}

Samples<GatedLinear> GatedLinear::samples() {
  Samples<GatedLinear> all;
  for (const DenseSize& size : dense_sizes) {
    all.push_back({size.text(), [size](Sampler& make, const auto& use) {
                     Tensor x = make.numbers({2, size.rows, size.in});
                     Tensor weight = make.weight({2 * size.out, size.in});
                     Tensor bias = make.numbers({2 * size.out});
                     use({x, weight});
                     use({x, weight, &bias});
                   }});
  }
  return all;
}

Samples<Embedding> Embedding::samples() {
  return {{"ids of two texts", [](Sampler& make, const auto& use) {
             Tensor ids = make.integers({2, 7}, 11), table = make.numbers({11, 5});
             use({ids, table});
             use({ids, table, at::kFloat});
             use({ids.select(0, 0), table});
           }}};
}

Samples<TimestepEmbedding> TimestepEmbedding::samples() {
  Samples<TimestepEmbedding> all;
  for (int64_t dim : {32, 33}) {
    all.push_back({fmt::format("{} values", dim), [dim](Sampler& make, const auto& use) {
                     Tensor steps = make.integers({3}, 1000).to(at::kFloat);
                     use({steps, dim, true, 0});
                     use({steps, dim, false, 1});
                   }});
  }
  return all;
}

}  // namespace omnirt::ops
