#include "io/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/printable.hpp"

namespace omnirt::io {
namespace {

bool eight_ascii(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return (word & 0x8080808080808080U) == 0;
}

}  // namespace

size_t find_invalid_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    if (i + 8 <= text.size() && eight_ascii(text.data() + i)) {
      i += 8;
      continue;
    }
    size_t length = utf8_length(text, i);
    if (length == 0) return i;
    i += length;
  }
  return std::string_view::npos;
}

void append_utf8(std::string& text, char32_t c) {
  auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0 | (c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0 | (c >> 12));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0 | (c >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string shown_name(std::string_view name) {
  constexpr size_t limit = 100;
  std::string text = "'";
  size_t i = 0;
  while (i < name.size()) {
    size_t length = std::max<size_t>(1, utf8_length(name, i));
    if (i + length > limit) return text + "...'";
    text += printable(name.substr(i, length));
    i += length;
  }
  return text + "'";
}

}  // namespace omnirt::io
