#include <ATen/ops/cos.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ops/samples/sampler.hpp"

namespace omnirt::ops {
namespace {

struct AttentionSize {
  int64_t heads, dim, queries, keys;
  std::string text() const {
    return fmt::format("{} heads of {}, {} queries, {} keys", heads, dim, queries, keys);
  }
  double scale() const { return 1.0 / std::sqrt(static_cast<double>(dim)); }
};

// The last is large enough for kernels that split their numbers.
constexpr AttentionSize attention_sizes[] = {{2, 8, 1, 3},     {8, 40, 64, 64},  {5, 64, 256, 77},
                                             {1, 512, 49, 49}, {12, 64, 77, 77}, {3, 5, 9, 11},
                                             {4, 32, 130, 130}};

// Some keys are kept from some queries; the first key from none.
Tensor masked(Tensor bias) {
  bias = bias.masked_fill(bias.lt(-0.5), -std::numeric_limits<double>::infinity());
  if (bias.numel() > 0) bias.select(-1, 0).zero_();
  return bias;
}

void use_biases(Sampler& make, const AttentionSize& size, Attention args,
                const std::function<void(const Attention&)>& use) {
  for (bool each_sample : {true, false}) {
    for (bool each_head : {true, false}) {
      for (bool each_query : {true, false}) {
        Tensor bias = make.numbers({each_sample ? 2 : 1, each_head ? size.heads : 1,
                                    each_query ? size.queries : 1, size.keys});
        args.bias = &bias;
        use(args);
        Tensor mask = masked(bias);
        args.bias = &mask;
        use(args);
      }
    }
  }
}

// Heads of queries that share heads of keys; some masked and some causal, and both.
void use_shared_heads(Sampler& make, int64_t heads, int64_t kv_heads, int64_t dim,
                      const std::function<void(const Attention&)>& use) {
  constexpr int64_t tokens = 37;
  Tensor query = make.numbers({2, tokens, heads * dim});
  Tensor key = make.numbers({2, tokens, kv_heads * dim});
  Tensor value = make.numbers({2, tokens, kv_heads * dim});
  Tensor bias = masked(make.numbers({2, 1, 1, tokens}));
  Attention args{query, key, value, heads, 1.0 / std::sqrt(static_cast<double>(dim))};
  args.kv_heads = kv_heads;
  for (bool causal : {false, true}) {
    args.causal = causal;
    args.bias = nullptr;
    use(args);
    args.bias = &bias;
    use(args);
  }
}

// Scores that are held within a bound, and windows of keys; causal, with a bias of all queries.
void use_limits(Sampler& make, const std::function<void(const Attention&)>& use) {
  constexpr int64_t tokens = 37, heads = 4, kv_heads = 2, dim = 16;
  Tensor query = make.numbers({2, tokens, heads * dim}, 3);
  Tensor key = make.numbers({2, tokens, kv_heads * dim}, 3);
  Tensor value = make.numbers({2, tokens, kv_heads * dim});
  Tensor bias = masked(make.numbers({2, 1, 1, tokens}));
  Attention args{query, key, value, heads, 0.25};
  args.kv_heads = kv_heads;
  args.causal = true;
  for (const Tensor* each : std::array<const Tensor*, 2>{nullptr, &bias}) {
    args.bias = each;
    for (double cap : {0.0, 2.0}) {
      for (int64_t window : {0, 9, 64}) {
        args.soft_cap = cap;
        args.window = window;
        use(args);
      }
    }
  }
}

}  // namespace

Samples<Attention> Attention::samples() {
  Samples<Attention> all;
  for (const AttentionSize& size : attention_sizes) {
    all.push_back({size.text(), [size](Sampler& make, const auto& use) {
                     const int64_t width = size.heads * size.dim;
                     Tensor query = make.numbers({2, size.queries, width});
                     Tensor key = make.numbers({2, size.keys, width});
                     Tensor value = make.numbers({2, size.keys, width});
                     Attention args{query, key, value, size.heads, size.scale()};
                     use(args);
                     args.upcast = true;
                     use(args);
                     args.upcast = false;
                     args.causal = true;
                     if (size.queries == size.keys) use(args);
                     args.causal = false;
                     use_biases(make, size, args, use);
                   }});
  }
  for (auto [heads, kv_heads, dim] :
       {std::array<int64_t, 3>{6, 3, 8}, {4, 1, 20}, {2, 2, 16}, {8, 2, 64}}) {
    all.push_back({fmt::format("{} heads over {} of {}", heads, kv_heads, dim),
                   [heads = heads, kv_heads = kv_heads, dim = dim](Sampler& make, const auto& use) {
                     use_shared_heads(make, heads, kv_heads, dim, use);
                   }});
  }
  all.push_back(
      {"held scores and windows", [](Sampler& make, const auto& use) { use_limits(make, use); }});
  all.push_back({"many queries over shared heads", [](Sampler& make, const auto& use) {
                   Tensor query = make.numbers({1, 140, 4 * 32});
                   Tensor key = make.numbers({1, 150, 2 * 32}), value = make.numbers({1, 150, 64});
                   Attention args{query, key, value, 4, 0.2};
                   args.kv_heads = 2;
                   use(args);
                 }});
  all.push_back({"parts of one product", [](Sampler& make, const auto& use) {
                   auto parts = make.numbers({2, 33, 3 * 64}).chunk(3, 2);
                   if (parts.size() == 3) use({parts[0], parts[1], parts[2], 4, 0.25});
                 }});
  // Each token begins at an odd number of values, so that no kernel may count on aligned memory.
  all.push_back({"parts at odd places", [](Sampler& make, const auto& use) {
                   Tensor whole = make.numbers({2, 33, 3 * 64 + 5});
                   if (whole.dim() != 3 || whole.size(2) < 3 * 64 + 3) return;
                   auto parts = whole.narrow(2, 3, 3 * 64).chunk(3, 2);
                   use({parts[0], parts[1], parts[2], 4, 0.25});
                 }});
  all.push_back({"causal, more keys than queries", [](Sampler& make, const auto& use) {
                   Tensor query = make.numbers({2, 17, 4 * 16});
                   Tensor key = make.numbers({2, 40, 4 * 16}), value = make.numbers({2, 40, 64});
                   Attention args{query, key, value, 4, 0.25};
                   args.causal = true;
                   use(args);
                 }});
  return all;
}

Samples<KeyMask> KeyMask::samples() {
  return {{"texts of 7", [](Sampler& make, const auto& use) {
             use({make.integers({3, 7}, 2), make.dtype()});
             use({make.numbers({1, 7}).gt(0).to(make.dtype()), make.dtype()});
           }}};
}

Samples<BlurTokens> BlurTokens::samples() {
  return {{"5 x 6 tokens", [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 30, 3});
             use({x, 5, 6, 0.7});
             use({x, 5, 6, 10.0});
             use({x, 5, 6, 0, /*infinite=*/true});
           }}};
}

Samples<AddPositions> AddPositions::samples() {
  return {{"3 x 5 tokens", [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 15, 8});
             use({x, 3, 5, 64, 1});
             use({x, 3, 5, 16, 2});
           }}};
}

Samples<TokenPositions> TokenPositions::samples() {
  return {{"7 tokens of text, 3 x 5 of an image", [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 15, 8});
             use({x, 7, 3, 5});
             use({x, 0, 1, 4});
           }}};
}

Samples<RelativePositionBias> RelativePositionBias::samples() {
  return {{"9 tokens", [](Sampler& make, const auto& use) {
             Tensor table = make.numbers({32, 3}), mask = make.integers({2, 9}, 2);
             use({table, 9, 128, make.dtype()});
             use({table, 9, 128, make.dtype(), &mask});
           }}};
}

Samples<RotaryTable> RotaryTable::samples() {
  return {{"positions of texts and images", [](Sampler& make, const auto& use) {
             Tensor text = make.integers({7, 1}, 500).to(at::kFloat);
             Tensor image = make.integers({7, 4}, 60).to(at::kFloat);
             use({text, {6}, 1e6});
             use({image, {8, 2, 6, 4}, 2000, /*angles_in_fp64=*/true});
           }}};
}

Samples<Rotary> Rotary::samples() {
  Samples<Rotary> all;
  for (auto [tokens, heads, dim] :
       {std::array<int64_t, 3>{1, 1, 2}, {9, 3, 6}, {33, 2, 64}, {70, 4, 40}}) {
    all.push_back({fmt::format("{} tokens, {} heads of {}", tokens, heads, dim),
                   [tokens = tokens, heads = heads, dim = dim](Sampler& make, const auto& use) {
                     Tensor all_parts = make.numbers({2, tokens, 3 * heads, dim});
                     Tensor angle = make.numbers({tokens, dim / 2}, 3).to(at::kFloat);
                     Tensor table = at::stack({angle.cos(), angle.sin()});
                     Tensor part = all_parts.narrow(2, heads, heads), whole = part.contiguous();
                     for (RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::neighbours}) {
                       use({whole, table, pairs});
                       use({part, table, pairs});
                       use({part.transpose(1, 2).contiguous().transpose(1, 2), table, pairs});
                     }
                   }});
  }
  return all;
}

Samples<StateAtToken> StateAtToken::samples() {
  return {{"2 texts of 7 ids", [](Sampler& make, const auto& use) {
             Tensor x = make.numbers({2, 7, 5}), ids = make.integers({2, 7}, 9);
             use({x, ids, 3, false});
             use({x, ids, 3, true});
           }}};
}

}  // namespace omnirt::ops
