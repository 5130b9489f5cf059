#include "text/unicode.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "base/ensure.hpp"
#include "io/utf8.hpp"
#include "text/unicode_pins.hpp"

namespace omnirt::text {
namespace {

// The entry of a sorted table of ranges that holds `codepoint`, or null.
template <class Entry, size_t n>
const Entry* find_range(const Entry (&table)[n], char32_t codepoint) {
  const Entry* entry = std::lower_bound(
      table, table + n, codepoint, [](const Entry& e, char32_t value) { return e.last < value; });
  return entry != table + n && entry->first <= codepoint ? entry : nullptr;
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

int combining_class(int32_t codepoint) {
  if (codepoint < 0x300 || find_range(pins::frozen_marks, codepoint)) return 0;
  return utf8proc_get_property(codepoint)->combining_class;
}

std::u32string decomposed(const std::u32string& text) {
  std::u32string result;
  result.reserve(text.size() + text.size() / 4);
  for (char32_t c : text) {
    if (c < 0xC0 || find_range(pins::frozen_composites, c)) {
      result += c;
      continue;
    }
    utf8proc_int32_t parts[8];
    int boundary = 0;
    auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts, 8,
                                         UTF8PROC_DECOMPOSE, &boundary);
    ensure(count > 0 && count <= 8, "U+{:04X} decomposes into {} parts", uint32_t{c}, count);
    result.append(parts, parts + count);
  }
  return result;
}

// utf8proc's own ordering swaps neighbours, which takes hours on a hostile run of marks.
void order_marks(std::u32string& text) {
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && combining_class(text[end]) != 0) ++end;
    if (end - i > 1) {
      std::stable_sort(text.begin() + i, text.begin() + end, [](char32_t a, char32_t b) {
        return combining_class(a) < combining_class(b);
      });
    }
    i = end + 1;
  }
}

// Composes text[begin, end), writes it at text[out], and returns the end of what was written.
size_t compose(std::u32string& text, size_t begin, size_t end, size_t out) {
  static_assert(sizeof(char32_t) == sizeof(utf8proc_int32_t));
  std::vector<utf8proc_int32_t> part(text.begin() + begin, text.begin() + end);
  auto size =
      utf8proc_normalize_utf32(part.data(), static_cast<utf8proc_ssize_t>(part.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  ensure(size >= 0, "utf8proc cannot compose: {}", size);
  std::copy(part.begin(), part.begin() + size, text.begin() + out);
  return out + static_cast<size_t>(size);
}

}  // namespace

char32_t next_codepoint(std::string_view text, size_t& pos) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[pos + i]); };
  auto tail = [&](size_t i) { return char32_t{byte(i)} & 0x3F; };
  size_t size = byte(0) < 0x80 ? 1 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  ensure(pos + size <= text.size(), "a code point of {} bytes at {} of {}", size, pos, text.size());
  char32_t codepoint = byte(0);
  if (size == 2) codepoint = (codepoint & 0x1F) << 6 | tail(1);
  if (size == 3) codepoint = (codepoint & 0x0F) << 12 | tail(1) << 6 | tail(2);
  if (size == 4) codepoint = (codepoint & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3);
  pos += size;
  return codepoint;
}

std::u32string to_utf32(std::string_view valid_utf8) {
  std::u32string result;
  result.reserve(valid_utf8.size());
  for (size_t pos = 0; pos < valid_utf8.size();) result += next_codepoint(valid_utf8, pos);
  return result;
}

std::string lossy_utf8(std::string_view bytes) {
  std::string result;
  while (!bytes.empty()) {
    size_t valid = std::min(io::find_invalid_utf8(bytes), bytes.size());
    result += bytes.substr(0, valid);
    bytes.remove_prefix(valid);
    if (bytes.empty()) break;
    result += "\xEF\xBF\xBD";
    // What can still begin a character is one ill-formed part; its length is what stays valid when
    // completed.
    auto at = [&](size_t i) {
      return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u;
    };
    size_t part = 1;
    unsigned lead = at(0);
    unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (lead >= 0xE0 && lead <= 0xF4 && at(1) >= low && at(1) <= high) {
      part = 2;
      if (lead >= 0xF0 && (at(2) & 0xC0) == 0x80) part = 3;
    }
    bytes.remove_prefix(part);
  }
  return result;
}

CharClass char_class(char32_t c) {
  if (is_space(c)) return CharClass::space;
  if (c < 0x80) {
    if (c >= '0' && c <= '9') return CharClass::number;
    char32_t folded = c | 0x20;
    return folded >= 'a' && folded <= 'z' ? CharClass::letter : CharClass::other;
  }
  if (const auto* pin = find_range(pins::classes, c)) return pin->value;
  utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) {
    return CharClass::letter;
  }
  if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) {
    return CharClass::number;
  }
  return CharClass::other;
}

void append_lower(std::u32string& text, char32_t c) {
  if (c < 0x80) {
    text += c >= 'A' && c <= 'Z' ? c + 0x20 : c;
  } else if (c == 0x130) {  // the one character whose lower case is two
    text += U"i\u0307";
  } else if (const auto* pin = find_range(pins::lower, c)) {
    text += pin->first_lower + (c - pin->first);
  } else {
    text += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  }
}

std::u32string nfc(std::u32string text) {
  // Below U+0300 there is no mark, and all is composed already.
  if (std::all_of(text.begin(), text.end(), [](char32_t c) { return c < 0x300; })) return text;
  text = decomposed(text);
  order_marks(text);
  // utf8proc composes by its own tables, so what these know and Unicode 9 does not goes into
  // separate parts.
  size_t out = 0, begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    bool cut_after = find_range(pins::frozen_bases, text[i]) != nullptr;
    // U+11A7 is no final consonant, yet utf8proc 2.8 swallows it after a Hangul syllable.
    bool cut_before = text[i] == 0x11A7 || find_range(pins::frozen_marks, text[i]) != nullptr;
    if (cut_before && i > begin) {
      out = compose(text, begin, i, out);
      begin = i;
    }
    if (cut_after) {
      out = compose(text, begin, i + 1, out);
      begin = i + 1;
    }
  }
  text.resize(compose(text, begin, text.size(), out));
  return text;
}

}  // namespace omnirt::text
