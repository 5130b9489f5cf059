#include "ops/support.hpp"

namespace omnirt::testing {
namespace {

// softmax(q k^T scale) v for each head, in fp64.
Tensor attended(const ops::Attention& args) {
  int64_t batch = args.x.size(0), queries = args.x.size(1), keys = args.key.size(1);
  int64_t width = args.x.size(2) / args.heads;
  auto heads = [&](const Tensor& x) {
    int64_t own = x.size(2) / width;
    Tensor split = x.to(at::kDouble).reshape({batch, x.size(1), own, width}).permute({0, 2, 1, 3});
    return split.repeat_interleave(args.heads / own, 1);
  };
  Tensor scores = at::matmul(heads(args.x), heads(args.key).transpose(-1, -2)) * args.scale;
  if (args.bias) scores = scores + *args.bias;
  if (args.causal) {
    Tensor above = at::ones({queries, keys}, at::kBool).triu(1);
    scores = scores.masked_fill(above, -std::numeric_limits<double>::infinity());
  }
  Tensor y = at::matmul(scores.softmax(-1), heads(args.value));
  return y.permute({0, 2, 1, 3}).reshape(args.x.sizes());
}

TEST(Attention, IsTheSoftmaxOfItsDefinition) {
  for (auto [batch, queries, keys, heads, width] : {std::array<int64_t, 5>{1, 1, 1, 1, 4},
                                                    {2, 9, 7, 3, 8},
                                                    {1, 33, 77, 4, 16},
                                                    {3, 64, 64, 1, 40}}) {
    Tensor query = numbers({batch, queries, heads * width});
    Tensor key = numbers({batch, keys, heads * width}, 2);
    Tensor value = numbers({batch, keys, heads * width}, 3);
    for (bool upcast : {false, true}) {
      ops::Attention args{query, key, value, heads, 1 / std::sqrt(double(width)), false, upcast};
      expect_close(computed(args), attended(args));
    }
  }
}

TEST(Attention, LooksOnlyBackWhenItIsCausal) {
  Tensor query = numbers({2, 16, 24}), key = numbers({2, 16, 24}, 2),
         value = numbers({2, 16, 24}, 3);
  ops::Attention args{query, key, value, 4, 0.4, true};
  Tensor y = computed(args);
  expect_close(y, attended(args));
  expect_close(y.select(1, 0), value.select(1, 0));
}

TEST(Attention, HeadsOfQueriesShareHeadsOfKeys) {
  for (int64_t kv_heads : {1, 2, 3, 6}) {
    Tensor query = numbers({2, 7, 6 * 4}), key = numbers({2, 7, kv_heads * 4}, 2),
           value = numbers({2, 7, kv_heads * 4}, 3);
    ops::Attention args{query, key, value, 6, 0.5};
    args.kv_heads = kv_heads;
    expect_close(computed(args), attended(args));
  }
}

TEST(Attention, ABiasMayComeWithLookingOnlyBack) {
  Tensor x = numbers({2, 6, 8}), bias = numbers({2, 1, 1, 6}, 4);
  bias[1][0][0][4] = -std::numeric_limits<float>::infinity();
  ops::Attention args{x, x, x, 2, 0.5, /*causal=*/true};
  args.bias = &bias;
  expect_close(computed(args), attended(args));
}

TEST(Attention, AQueryThatIsKeptFromEveryKeyIsZero) {
  Tensor x = numbers({1, 4, 8}), bias = at::zeros({1, 1, 1, 4});
  bias.narrow(3, 0, 2).fill_(-std::numeric_limits<float>::infinity());
  ops::Attention args{x, x, x, 2, 0.5, /*causal=*/true};
  args.bias = &bias;
  Tensor y = computed(args);
  EXPECT_EQ(y.narrow(1, 0, 2).abs().max().item<float>(), 0);
  EXPECT_GT(y.narrow(1, 2, 2).abs().min().item<float>(), 0);
}

TEST(Attention, TakesTheScaleThatItIsGiven) {
  Tensor query = numbers({1, 5, 8}), key = numbers({1, 6, 8}, 2), value = numbers({1, 6, 8}, 3);
  for (double scale : {0.1, 1.0, 3.0}) {
    ops::Attention args{query, key, value, 2, scale};
    expect_close(computed(args), attended(args));
  }
}

TEST(Attention, ScoresInFullPrecisionWhenUpcast) {
  // Scores of some thousands overflow fp16 (65504) in the products, but not in fp32.
  Tensor query = at::full({1, 2, 64}, 60.0f, at::kHalf), key = query.clone();
  Tensor value = numbers({1, 2, 64}).to(at::kHalf);
  ops::Attention args{query, key, value, 1, 1.0, false, true};
  Tensor y = computed(args);
  EXPECT_EQ(y.scalar_type(), at::kHalf);
  EXPECT_TRUE(y.isfinite().all().item<bool>());
}

TEST(KeyMask, KeepsQueriesFromPaddingAlone) {
  Tensor mask = at::ones({2, 3});
  mask[1][2] = 0;
  Tensor bias = computed(ops::KeyMask{mask, at::kFloat});
  EXPECT_EQ(bias[1][0][0][2].item<float>(), -std::numeric_limits<float>::infinity());
  bias[1][0][0][2] = 0;
  EXPECT_EQ(bias.abs().max().item<float>(), 0);
}

}  // namespace
}  // namespace omnirt::testing
