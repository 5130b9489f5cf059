#include "base/byte_size.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>

namespace omnirt {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr Unit units[] = {{"", 1},         {"b", 1},       {"kb", 1e3},     {"mb", 1e6},
                          {"gb", 1e9},     {"tb", 1e12},   {"kib", 1024.0}, {"mib", 1048576.0},
                          {"gib", 0x1p30}, {"tib", 0x1p40}};

}  // namespace

std::optional<uint64_t> parse_byte_size(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  std::string unit;
  for (const char* at = end; at != text.data() + text.size(); ++at) {
    if (*at != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*at)));
  }
  for (const Unit& each : units) {
    if (unit != each.name) continue;
    const double bytes = number * each.bytes;
    if (bytes > 0x1p60) return std::nullopt;
    return static_cast<uint64_t>(bytes);
  }
  return std::nullopt;
}

std::string shown_byte_size(uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (bytes < 1'000'000'000) return fmt::format("{:.0f} MB", std::ceil(size / 1e6));
  return fmt::format("{:.2f} GB", std::ceil(size / 1e7) / 100);
}

}  // namespace omnirt
