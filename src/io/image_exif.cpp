#include "io/image_exif.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "io/utf8.hpp"

namespace omnirt::io {
namespace {

using namespace std::string_view_literals;

constexpr uint32_t orientation_tag = 0x0112;
constexpr uint32_t exif_directory_tag = 0x8769;
constexpr uint32_t user_comment_tag = 0x9286;
constexpr uint32_t type_long = 4;
constexpr uint32_t type_undefined = 7;
constexpr size_t entry_bytes = 12;
// The code of a UserComment's characters (CIPA DC-008, 4.6.6).
constexpr std::string_view unicode_code{"UNICODE\0", 8};
constexpr std::string_view ascii_code{"ASCII\0\0\0", 8};

// Reads numbers of a TIFF structure in its own byte order; nullopt outside its bytes.
class TiffView {
 public:
  explicit TiffView(std::string_view bytes) : bytes_(bytes), little_(bytes.starts_with("II")) {}

  bool is_tiff() const { return bytes_.starts_with("II*\0"sv) || bytes_.starts_with("MM\0*"sv); }
  bool little() const { return little_; }

  std::optional<uint32_t> number(size_t at, size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return std::nullopt;
    uint32_t value = 0;
    for (size_t k = 0; k < size; ++k) {
      value = value << 8 | static_cast<unsigned char>(bytes_[at + (little_ ? size - 1 - k : k)]);
    }
    return value;
  }

  // Where the entry of this tag begins in a directory; 0 where there is none. A directory is a
  // 16-bit count and entries {tag 2, type 2, count 4, value or its place 4} (TIFF 6.0, section 2).
  size_t entry(size_t directory, uint32_t tag) const {
    const size_t entries = number(directory, 2).value_or(0);
    for (size_t i = 0; i < entries; ++i) {
      const size_t at = directory + 2 + entry_bytes * i;
      const auto found = number(at, 2);
      if (!found) return 0;
      if (*found == tag) return at;
    }
    return 0;
  }

  std::string_view bytes(size_t at, size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return {};
    return bytes_.substr(at, size);
  }

 private:
  std::string_view bytes_;
  bool little_;
};

bool is_surrogate(char32_t unit) {
  return unit >= 0xd800 && unit < 0xe000;
}

// Units that make no character are left out.
std::string utf8_from_utf16(std::string_view bytes, bool little) {
  auto unit_at = [&](size_t i) {
    const auto first = static_cast<unsigned char>(bytes[i]);
    const auto second = static_cast<unsigned char>(bytes[i + 1]);
    return static_cast<char32_t>(little ? second << 8 | first : first << 8 | second);
  };
  std::string text;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    char32_t unit = unit_at(i);
    if (unit < 0xdc00 && is_surrogate(unit) && i + 3 < bytes.size()) {
      const char32_t low = unit_at(i + 2);
      if (low < 0xdc00 || !is_surrogate(low)) continue;
      unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
      i += 2;
    }
    if (unit != 0 && !is_surrogate(unit)) append_utf8(text, unit);
  }
  return text;
}

std::string big_endian(uint32_t value, size_t size) {
  std::string bytes;
  for (size_t k = size; k-- > 0;) bytes += static_cast<char>(value >> (8 * k));
  return bytes;
}

// The text must be UTF-8.
std::string utf16_from_utf8(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    char32_t code = length == 1 ? lead : lead & (0x7f >> length);
    for (size_t k = 1; k < length && i + k < text.size(); ++k)
      code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3f);
    i += length;
    if (code < 0x10000) {
      bytes += big_endian(code, 2);
    } else {
      bytes += big_endian(0xd800 + ((code - 0x10000) >> 10), 2);
      bytes += big_endian(0xdc00 + ((code - 0x10000) & 0x3ff), 2);
    }
  }
  return bytes;
}

std::string entry_of(uint32_t tag, uint32_t type, size_t count, size_t value) {
  return big_endian(tag, 2) + big_endian(type, 2) + big_endian(static_cast<uint32_t>(count), 4) +
         big_endian(static_cast<uint32_t>(value), 4);
}

}  // namespace

// Two directories of one entry each: the first points to EXIF's, whose comment follows it.
std::string exif_with_comment(std::string_view text) {
  constexpr size_t first = 8;
  constexpr size_t directory_bytes = 2 + entry_bytes + 4;
  constexpr size_t second = first + directory_bytes;
  const std::string comment = std::string(unicode_code) + utf16_from_utf8(text);
  const std::string one = big_endian(1, 2), no_next = big_endian(0, 4);
  return "MM" + big_endian(42, 2) + big_endian(first, 4) + one +
         entry_of(exif_directory_tag, type_long, 1, second) + no_next + one +
         entry_of(user_comment_tag, type_undefined, comment.size(), second + directory_bytes) +
         no_next + comment;
}

std::string exif_comment(std::string_view exif) {
  const TiffView tiff(exif);
  if (!tiff.is_tiff()) return "";
  const size_t pointer = tiff.entry(tiff.number(4, 4).value_or(0), exif_directory_tag);
  if (pointer == 0) return "";
  const size_t comment = tiff.entry(tiff.number(pointer + 8, 4).value_or(0), user_comment_tag);
  if (comment == 0 || tiff.number(comment + 2, 2) != type_undefined) return "";
  const std::string_view value =
      tiff.bytes(tiff.number(comment + 8, 4).value_or(0), tiff.number(comment + 4, 4).value_or(0));
  if (value.starts_with(unicode_code))
    return utf8_from_utf16(value.substr(unicode_code.size()), tiff.little());
  const std::string_view plain = value.substr(std::min(value.size(), ascii_code.size()));
  const bool ascii = value.starts_with(ascii_code) && find_invalid_utf8(plain) == plain.npos;
  return ascii ? std::string(plain.substr(0, plain.find('\0'))) : "";
}

// The value is in the entry itself, at its front.
int exif_orientation(std::string_view exif) {
  const TiffView tiff(exif);
  if (!tiff.is_tiff()) return 0;
  const size_t at = tiff.entry(tiff.number(4, 4).value_or(0), orientation_tag);
  if (at == 0) return 0;
  const uint32_t type = tiff.number(at + 2, 2).value_or(0);
  const size_t size = type == 1 ? 1 : type == 3 ? 2 : type == 4 ? 4 : 0;
  return size == 0 ? 0 : static_cast<int>(tiff.number(at + 8, size).value_or(0) & 0xffff);
}

}  // namespace omnirt::io
