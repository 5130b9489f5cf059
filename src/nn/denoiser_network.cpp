#include "nn/denoiser_network.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace omnirt::nn {

Tensor each_row(Context& cx, const std::string& name, const Value& value) {
  if (value.rows().empty()) return value.tensor();
  std::string site = fmt::format("{} in rows {}", name, fmt::join(value.rows(), ","));
  return cx.once(site, value.tensor(), [&] {
    return cx.ops().take_rows(cx, {value.tensor(), value.rows()});
  });
}

}  // namespace omnirt::nn
