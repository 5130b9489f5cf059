#include "tensor/finite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace omnirt {
namespace {

// Of each type the bits that are all set in infinities and NaNs: those of the exponent; of
// float8_e4m3fn, which has no infinities, those of its NaNs.
template <class Bits>
std::optional<int64_t> first_with_all(const void* data, int64_t count, Bits bits) {
  const auto* values = static_cast<const Bits*>(data);
  constexpr int64_t stretch = 4096;  // without a branch inside, so that it is vectorised
  for (int64_t begin = 0; begin < count; begin += stretch) {
    const int64_t end = std::min(begin + stretch, count);
    bool any = false;
    for (int64_t i = begin; i < end; ++i) any |= (values[i] & bits) == bits;
    if (!any) continue;
    for (int64_t i = begin; i < end; ++i)
      if ((values[i] & bits) == bits) return i;
  }
  return std::nullopt;
}

std::optional<int64_t> first_of(const Tensor& x) {
  const void* data = x.const_data_ptr();
  const int64_t count = x.numel();
  switch (x.scalar_type()) {
    case at::kDouble:
      return first_with_all<uint64_t>(data, count, uint64_t{0x7ff} << 52);
    case at::kFloat:
      return first_with_all<uint32_t>(data, count, uint32_t{0x7f800000});
    case at::kBFloat16:
      return first_with_all<uint16_t>(data, count, uint16_t{0x7f80});
    case at::kHalf:
      return first_with_all<uint16_t>(data, count, uint16_t{0x7c00});
    case at::kFloat8_e5m2:
      return first_with_all<uint8_t>(data, count, uint8_t{0x7c});
    case at::kFloat8_e4m3fn:
      return first_with_all<uint8_t>(data, count, uint8_t{0x7f});
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::string> first_not_finite(const Tensor& x) {
  if (!x.defined() || x.numel() == 0 || !x.is_floating_point()) return std::nullopt;
  const Tensor here = x.cpu().contiguous();
  const auto found = first_of(here);
  if (!found) return std::nullopt;
  std::vector<int64_t> place(static_cast<size_t>(here.dim()));
  int64_t rest = *found;
  for (int64_t axis = here.dim() - 1; axis >= 0; --axis) {
    place[static_cast<size_t>(axis)] = rest % here.size(axis);
    rest /= here.size(axis);
  }
  const double value = here.view({-1}).narrow(0, *found, 1).to(at::kDouble).item<double>();
  return fmt::format("{} at [{}]", std::isnan(value) ? "nan" : fmt::format("{}", value),
                     fmt::join(place, ", "));
}

}  // namespace omnirt
