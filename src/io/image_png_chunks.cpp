#include <zlib.h>

#include <algorithm>
#include <cstdint>

#include "io/image_embedded.hpp"
#include "io/image_text.hpp"
#include "io/utf8.hpp"

// The ancillary chunks of a PNG (PNG specification, third edition, 11.3), read apart from libpng:
// no pixel is decoded, and chunks after the pixels are found too.
namespace omnirt::io {
namespace {

uint32_t read_u32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t k = 0; k < 4; ++k) value = value << 8 | static_cast<unsigned char>(bytes[at + k]);
  return value;
}

bool crc_matches(std::string_view type_and_body, uint32_t stored) {
  return crc32(0, reinterpret_cast<const Bytef*>(type_and_body.data()),
               static_cast<uInt>(type_and_body.size())) == stored;
}

// Inflates what fits into `budget`, and takes from it what was spent, also in vain: a file may hold
// any number of texts. False when the data is damaged or too long.
bool inflate(std::string_view data, size_t& budget, std::string& out) {
  for (size_t room = data.size() * 8 + 256; budget > 0; room *= 8) {
    out.resize(std::min(room, budget));
    uLongf size = out.size();
    const int status = uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                                  reinterpret_cast<const Bytef*>(data.data()), data.size());
    if (status == Z_OK) {
      out.resize(size);
      return true;
    }
    budget -= out.size();
    if (status != Z_BUF_ERROR) return false;
  }
  return false;
}

// Splits off what comes before the next zero byte; false when there is none.
bool take_string(std::string_view& rest, std::string_view& taken) {
  const size_t end = rest.find('\0');
  if (end == std::string_view::npos) return false;
  taken = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return true;
}

struct Text {
  std::string_view key;
  std::string value;
};

bool parse_text(std::string_view type, std::string_view body, size_t& budget, Text& text) {
  if (!take_string(body, text.key) || body.size() > budget) return false;
  if (type == "tEXt") {
    text.value = utf8_from_latin1(body);
    return true;
  }
  if (body.empty()) return false;
  if (type == "zTXt") {
    std::string inflated;
    if (!inflate(body.substr(1), budget, inflated)) return false;
    text.value = utf8_from_latin1(inflated);
    return true;
  }
  const bool compressed = body[0] == 1;
  std::string_view language;
  std::string_view translated_key;
  body.remove_prefix(std::min<size_t>(2, body.size()));
  if (!take_string(body, language) || !take_string(body, translated_key)) return false;
  if (!compressed) {
    text.value = body;
  } else if (!inflate(body, budget, text.value)) {
    return false;
  }
  return find_invalid_utf8(text.value) == std::string::npos;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// ImageMagick's older way to keep EXIF: a text of two heading lines, a length and hex digits.
std::string raw_profile(std::string_view text) {
  for (int line = 0; line < 3; ++line) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  std::string bytes;
  int high = -1;
  for (char c : text) {
    const int digit = hex_digit(c);
    if (digit < 0) continue;
    if (high >= 0) bytes += static_cast<char>(high << 4 | digit);
    high = high >= 0 ? -1 : digit;
  }
  return bytes.starts_with("Exif") && bytes.size() > 6 ? bytes.substr(6) : bytes;
}

void sort_text(Text text, EmbeddedData& found) {
  if (text.key == "XML:com.adobe.xmp") {
    found.xmp = std::move(text.value);
  } else if (text.key == "Raw profile type exif") {
    if (found.exif.empty()) found.exif = raw_profile(text.value);
  } else if (!text.key.empty()) {
    found.text.emplace(utf8_from_latin1(text.key), std::move(text.value));
  }
}

// What an entry of a map takes in addition to its texts, about.
constexpr size_t entry_cost = 128;

bool is_text_chunk(std::string_view type) {
  return type == "tEXt" || type == "zTXt" || type == "iTXt";
}

}  // namespace

EmbeddedData read_embedded_png(std::string_view bytes) {
  EmbeddedData found;
  size_t budget = 2 * max_metadata_bytes;
  size_t at = 8;
  while (at + 12 <= bytes.size()) {
    const size_t length = read_u32(bytes, at);
    if (length > bytes.size() - at - 12) break;
    const std::string_view type = bytes.substr(at + 4, 4);
    const std::string_view body = bytes.substr(at + 8, length);
    const uint32_t crc = read_u32(bytes, at + 8 + length);
    const bool wanted = type == "eXIf" || (is_text_chunk(type) && budget > 0);
    if (wanted && crc_matches(bytes.substr(at + 4, length + 4), crc)) {
      Text text;
      if (type == "eXIf") {
        found.exif = body;
      } else if (parse_text(type, body, budget, text)) {
        budget -= std::min(budget, text.value.size() + text.key.size() + entry_cost);
        sort_text(std::move(text), found);
      }
    }
    if (type == "IEND") break;
    at += 12 + length;
  }
  return found;
}

}  // namespace omnirt::io
