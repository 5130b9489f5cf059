#include "blocks/token_size.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "blocks/image_size.hpp"

namespace omnirt::blocks {

void SizeInTokens::check(Checks& checks) const {
  const int64_t grid = checks[vae].factors().side, token = grid * patch_;
  for (const Config<int64_t>* side : {&width, &height}) {
    auto given = checks.maybe(*side);
    if (!given) {
      auto most = static_cast<int64_t>(side->key.max) / token * token;
      checks.settle(*side, std::min(usual_ * grid / token * token, most), Origin::model);
    } else if (*given % token != 0) {
      int64_t below = *given / token * token;
      checks.error({"config." + side->name(), std::to_string(*given),
                    fmt::format("not a multiple of {}, the pixels of one token", token),
                    below == 0 ? fmt::format("give {}", token)
                               : fmt::format("give {} or {}", below, below + token)});
    }
  }
}

void SizeInTokens::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  tell_image_sizes(checks[width], checks[height], checks[vae], sizes);
}

}  // namespace omnirt::blocks
