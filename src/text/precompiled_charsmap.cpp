#include "text/precompiled_charsmap.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

#include "base/error.hpp"
#include "io/utf8.hpp"
#include "text/unicode.hpp"

namespace omnirt::text {
namespace {

// Graphemes of this many bytes or more are looked up by characters only.
constexpr size_t long_grapheme = 6;
constexpr size_t max_replacement = 256;  // bytes; real ones take up to 54

// A unit of the double array (s-yata/darts-clone, darts.h).
struct Unit {
  uint32_t bits;
  bool is_leaf() const { return bits >> 31; }
  bool has_leaf() const { return (bits >> 8) & 1; }
  uint32_t value() const { return bits & 0x7FFFFFFF; }
  uint32_t label() const { return bits & 0x800000FF; }
  size_t offset() const { return static_cast<size_t>(bits >> 10) << ((bits & (1U << 9)) >> 6); }
};

uint32_t little_endian(std::string_view bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 4; i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

// The end of the grapheme that begins at `begin` (UAX 29, extended).
size_t grapheme_end(std::string_view text, size_t begin) {
  size_t at = begin;
  auto before = static_cast<utf8proc_int32_t>(next_codepoint(text, at));
  utf8proc_int32_t state = 0;
  while (at < text.size()) {
    size_t next = at;
    auto codepoint = static_cast<utf8proc_int32_t>(next_codepoint(text, next));
    if (utf8proc_grapheme_break_stateful(before, codepoint, &state)) break;
    before = codepoint;
    at = next;
  }
  return at;
}

void append(NormalizedText& out, std::string_view text, size_t origin) {
  out.text += text;
  out.origin.resize(out.text.size(), static_cast<uint32_t>(origin));
}

}  // namespace

PrecompiledCharsmap::PrecompiledCharsmap(std::string_view blob, const std::string& where) {
  size_t bytes = blob.size() >= 4 ? little_endian(blob, 0) : 0;
  if (blob.size() < 4 || bytes > blob.size() - 4 || bytes % 4 != 0 || bytes == 0) {
    throw InvalidFile({where, fmt::format("{} bytes", blob.size()),
                       "the normalizer's replacements are cut or malformed", ""});
  }
  for (size_t i = 0; i < bytes / 4; ++i) units_.push_back(little_endian(blob, 4 + 4 * i));
  texts_ = blob.substr(4 + bytes);
  if (io::find_invalid_utf8(texts_) != std::string_view::npos) {
    throw InvalidFile({where, "", "the normalizer's replacements are not UTF-8", ""});
  }
  check_units(where);
}

// Every leaf must name a replacement, and every unit that says to have a leaf must have one.
void PrecompiledCharsmap::check_units(const std::string& where) const {
  auto refuse = [&](size_t at, std::string message) {
    throw InvalidFile({where, fmt::format("unit {} of the normalizer's replacements", at),
                       std::move(message), "copy the file anew"});
  };
  for (size_t i = 0; i < units_.size(); ++i) {
    Unit unit{units_[i]};
    if (!unit.is_leaf()) {
      size_t leaf = i ^ unit.offset();
      if (unit.has_leaf() && (leaf >= units_.size() || !Unit{units_[leaf]}.is_leaf()))
        refuse(i, "its leaf is missing");
      continue;
    }
    size_t begin = unit.value();
    bool inside = begin < texts_.size() && (texts_[begin] & 0xC0) == 0x80;
    if (begin > texts_.size() || inside) refuse(i, "does not begin at a character");
    std::string_view rest = std::string_view(texts_).substr(begin, max_replacement + 1);
    if (rest.size() > max_replacement && rest.find('\0') == rest.npos)
      refuse(i, fmt::format("longer than the limit of {} bytes", max_replacement));
  }
}

std::optional<std::string_view> PrecompiledCharsmap::replacement(std::string_view part) const {
  auto unit = [&](size_t at) { return Unit{at < units_.size() ? units_[at] : 0x80000000U}; };
  size_t at = unit(0).offset();
  for (char c : part) {
    auto byte = static_cast<unsigned char>(c);
    if (byte == 0) break;
    at ^= byte;
    Unit here = unit(at);
    if (here.label() != byte) break;
    at ^= here.offset();
    if (!here.has_leaf()) continue;
    size_t begin = unit(at).value();
    return std::string_view(texts_).substr(begin, texts_.find('\0', begin) - begin);
  }
  return std::nullopt;
}

NormalizedText PrecompiledCharsmap::normalize(std::string_view text, size_t max_bytes) const {
  NormalizedText out;
  for (size_t begin = 0; begin < text.size() && out.text.size() <= max_bytes;) {
    size_t end = grapheme_end(text, begin);
    std::string_view grapheme = text.substr(begin, end - begin);
    std::optional<std::string_view> whole;
    if (grapheme.size() < long_grapheme) whole = replacement(grapheme);
    if (whole) append(out, *whole, begin);
    for (size_t at = begin; !whole && at < end && out.text.size() <= max_bytes;) {
      size_t from = at;
      next_codepoint(text, at);
      std::string_view character = text.substr(from, at - from);
      append(out, replacement(character).value_or(character), from);
    }
    begin = end;
  }
  return out;
}

}  // namespace omnirt::text
