#include "nn/config_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace omnirt::nn {

void ConfigCheck::expect(bool ok, const std::string& name, std::string value, std::string message,
                         std::string way_out) {
  if (ok) return;
  if (way_out.empty()) way_out = "take the config.json that the weights came with";
  findings_.push_back(
      {where_ + "." + name, std::move(value), std::move(message), std::move(way_out)});
}

void ConfigCheck::range(const std::string& name, int64_t value, int64_t lowest, int64_t highest) {
  expect(value >= lowest && value <= highest, name, std::to_string(value),
         fmt::format("the value must lie in {}..{}", lowest, highest));
}

void ConfigCheck::positive(const std::string& name, double value) {
  // What is computed with it is fp32.
  using Limits = std::numeric_limits<float>;
  expect(value >= Limits::min() && value <= Limits::max(), name, fmt::format("{}", value),
         fmt::format("the value must lie in {}..{}", Limits::min(), Limits::max()));
}

void ConfigCheck::length(const std::string& name, size_t length, size_t most) {
  expect(length >= 1 && length <= most, name, std::to_string(length) + " values",
         fmt::format("the list must have 1..{} values", most));
}

void ConfigCheck::one_of(const std::string& name, const std::string& value,
                         const std::vector<std::string>& implemented) {
  expect(std::ranges::find(implemented, value) != implemented.end(), name, value,
         "this value is not implemented",
         fmt::format("implemented: {}", fmt::join(implemented, ", ")));
}

void ConfigCheck::divisible(const std::string& name, int64_t value, const std::string& by,
                            int64_t divisor) {
  expect(divisor > 0 && value % divisor == 0, name, std::to_string(value),
         fmt::format("the value must be a multiple of {} ({})", by, divisor));
}

void ConfigCheck::rotary_axes(const std::string& name, const std::vector<int64_t>& axes,
                              size_t count, int64_t least, int64_t head_dim) {
  expect(axes.size() == count, name, fmt::format("{} values", axes.size()),
         fmt::format("tokens have positions on {} axes", count));
  for (int64_t axis : axes) {
    range(name, axis, least, 1 << 10);
    divisible(name, axis, "pairs that turn together", 2);
  }
  if (!ok()) return;
  const int64_t sum = std::accumulate(axes.begin(), axes.end(), int64_t{0});
  expect(sum == head_dim, name, std::to_string(sum), fmt::format("heads are {} wide", head_dim),
         "the axes' sum must be attention_head_dim");
}

void ConfigCheck::finish() const {
  if (!findings_.empty()) throw Unsupported(findings_);
}

}  // namespace omnirt::nn
