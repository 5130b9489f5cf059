#include "io/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace omnirt::io {
namespace {

unsigned char at(std::string_view text, size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

// The length of the well-formed sequence that starts at `i`, or 0: table 3-7 of the Unicode
// standard, where only the second byte's range depends on the first.
size_t sequence_length(std::string_view text, size_t i) {
  unsigned char first = at(text, i);
  if (first < 0x80) return 1;
  size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (size_t k = 1; k < length; ++k) {
    unsigned char byte = at(text, i + k);
    if (byte < low || byte > high) return 0;
    low = 0x80;
    high = 0xBF;
  }
  return length;
}

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
    size_t length = sequence_length(text, i);
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
    size_t length = std::max<size_t>(1, sequence_length(name, i));
    if (i + length > limit) return text + "...'";
    std::string_view character = name.substr(i, length);
    bool printable = length > 1 || (at(name, i) >= 0x20 && at(name, i) < 0x7F);
    text += printable ? character : "?";
    i += length;
  }
  return text + "'";
}

}  // namespace omnirt::io
