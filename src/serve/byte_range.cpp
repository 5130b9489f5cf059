#include "serve/byte_range.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace omnirt::serve {
namespace {

// A number too large for any file is the largest.
std::optional<uint64_t> number_of(std::string_view digits) {
  uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, number);
  if (error == std::errc::invalid_argument || stopped != end) return std::nullopt;
  return error == std::errc() ? number : std::numeric_limits<uint64_t>::max();
}

}  // namespace

std::optional<ByteRange> read_byte_range(std::string_view header, uint64_t size) {
  constexpr std::string_view unit = "bytes=";
  if (!header.starts_with(unit)) return std::nullopt;
  const std::string_view range = header.substr(unit.size());
  const size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view first = range.substr(0, dash), last = range.substr(dash + 1);
  if (first.empty()) {
    const auto tail = number_of(last);
    if (!tail) return std::nullopt;
    const uint64_t bytes = std::min(*tail, size);
    return ByteRange{size - bytes, bytes};
  }
  const auto from = number_of(first);
  const auto to = last.empty() ? std::numeric_limits<uint64_t>::max() : number_of(last);
  if (!from || !to || *to < *from) return std::nullopt;
  if (*from >= size) return ByteRange{};
  return ByteRange{*from, std::min(*to, size - 1) - *from + 1};
}

}  // namespace omnirt::serve
