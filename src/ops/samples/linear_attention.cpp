#include <fmt/format.h>

#include "ops/linear_attention.hpp"
#include "ops/samples/sampler.hpp"

namespace omnirt::ops {

Samples<LinearAttention> LinearAttention::samples() {
  Samples<LinearAttention> all;
  for (auto [tokens, heads, dim] :
       {std::array<int64_t, 3>{1, 1, 2}, {9, 3, 5}, {64, 2, 32}, {130, 4, 8}}) {
    all.push_back({fmt::format("{} tokens, {} heads of {}", tokens, heads, dim),
                   [tokens = tokens, heads = heads, dim = dim](Sampler& make, const auto& use) {
                     Tensor parts = make.numbers({2, tokens, heads, 3 * dim});
                     auto part = [&](int64_t i) { return parts.narrow(3, i * dim, dim); };
                     use({part(0).contiguous(), part(1).contiguous(), part(2).contiguous()});
                     use({part(0), part(1), part(2)});
                     Tensor key = make.numbers({2, 7, heads, dim});
                     use({part(0), key, make.numbers({2, 7, heads, dim}), 1e-3});
                   }});
  }
  return all;
}

}  // namespace omnirt::ops
