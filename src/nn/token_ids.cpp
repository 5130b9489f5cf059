#include "nn/token_ids.hpp"

#include <ATen/ops/aminmax.h>
#include <fmt/format.h>

#include "base/error.hpp"

namespace omnirt::nn {

void check_token_ids(const Context& cx, const Tensor& ids, int64_t vocab_size) {
  if (cx.dry() || !ids.is_cpu() || ids.numel() == 0) return;
  auto [lowest, highest] = at::aminmax(ids);
  int64_t low = lowest.item<int64_t>(), high = highest.item<int64_t>();
  if (low >= 0 && high < vocab_size) return;
  throw InvalidRequest({"input_ids", fmt::format("{}", low < 0 ? low : high),
                        fmt::format("the text encoder's vocabulary has {} entries", vocab_size),
                        "use the tokenizer that belongs to this text encoder"});
}

}  // namespace omnirt::nn
