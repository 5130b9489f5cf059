#include "base/printable.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace omnirt {
namespace {

unsigned char byte_at(std::string_view text, size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

char32_t code_point(std::string_view sequence) {
  auto first = static_cast<unsigned char>(sequence.front());
  if (sequence.size() == 1) return first;
  char32_t code = first & (0xFF >> (sequence.size() + 1));
  for (char byte : sequence.substr(1)) code = code << 6 | (static_cast<unsigned char>(byte) & 0x3F);
  return code;
}

bool within(char32_t code, char32_t first, char32_t last) {
  return code >= first && code <= last;
}

// What a terminal obeys instead of showing it. The separators of lines and paragraphs count too.
bool is_control(char32_t code) {
  return code < 0x20 || within(code, 0x7F, 0x9F) || code == 0x061C ||
         within(code, 0x200E, 0x200F) || within(code, 0x2028, 0x202E) ||
         within(code, 0x2066, 0x2069);
}

// Each character, with the result of `replace(code, sequence)` in place of controls; bytes that are
// not UTF-8 as '?'.
template <class Replace>
std::string without_controls(std::string_view text, const Replace& replace) {
  std::string cleaned;
  cleaned.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text, i);
    std::string_view sequence = text.substr(i, std::max<size_t>(length, 1));
    i += sequence.size();
    if (length == 0)
      cleaned += '?';
    else if (char32_t code = code_point(sequence); is_control(code))
      cleaned += replace(code);
    else
      cleaned += sequence;
  }
  return cleaned;
}

}  // namespace

// Table 3-7 of the Unicode standard, where only the second byte's range depends on the first.
size_t utf8_length(std::string_view text, size_t i) {
  unsigned char first = byte_at(text, i);
  if (first < 0x80) return 1;
  size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (size_t k = 1; k < length; ++k) {
    unsigned char byte = byte_at(text, i + k);
    if (byte < low || byte > high) return 0;
    low = 0x80;
    high = 0xBF;
  }
  return length;
}

std::string printable(std::string_view text) {
  return without_controls(text,
                          [](char32_t code) { return code == '\n' || code == '\t' ? ' ' : '?'; });
}

std::string printable_lines(std::string_view text) {
  return without_controls(text, [](char32_t code) {
    return code == '\n' || code == '\t' ? static_cast<char>(code) : '?';
  });
}

std::string printable_json(std::string_view text) {
  return without_controls(text, [](char32_t code) {
    // Between JSON's values only line ends are kept as they are; inside texts there are none.
    return code < 0x20 ? std::string(1, static_cast<char>(code))
                       : fmt::format("\\u{:04x}", static_cast<uint32_t>(code));
  });
}

}  // namespace omnirt
