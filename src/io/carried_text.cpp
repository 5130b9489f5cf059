#include "io/carried_text.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "io/image.hpp"
#include "io/mapped_file.hpp"

namespace omnirt::io {
namespace fs = std::filesystem;
namespace {

using namespace std::string_view_literals;

uint32_t number_at(std::string_view bytes, size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

uint64_t big_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) value = value << 8 | number_at(bytes, i);
  return value;
}

// GIF89a, sections 17 to 24: the comment comes before the first image, in sub-blocks of up to 255
// bytes.
std::optional<std::string> gif_comment(std::string_view bytes) {
  constexpr size_t header = 13;
  if (bytes.size() < header) return std::nullopt;
  uint32_t flags = number_at(bytes, 10);
  size_t at = header + ((flags & 0x80) != 0 ? size_t{3} << ((flags & 7) + 1) : 0);
  while (at + 2 < bytes.size() && bytes[at] == '\x21') {
    bool comment = bytes[at + 1] == '\xfe';
    std::string text;
    for (at += 2; at < bytes.size() && bytes[at] != '\0';) {
      size_t length = number_at(bytes, at);
      if (length >= bytes.size() - at || text.size() > max_metadata_bytes) return std::nullopt;
      if (comment) text += bytes.substr(at + 1, length);
      at += 1 + length;
    }
    ++at;
    if (comment) return text;
  }
  return std::nullopt;
}

// The body of the first box of this type among those in `boxes` (ISO 14496-12, section 4.2).
std::optional<std::string_view> box(std::string_view boxes, std::string_view type) {
  while (boxes.size() >= 8) {
    uint64_t size = big_endian(boxes.substr(0, 4));
    size_t header = 8;
    if (size == 1 && boxes.size() >= 16) {
      size = big_endian(boxes.substr(8, 8));
      header = 16;
    }
    if (size == 0) size = boxes.size();
    if (size < header || size > boxes.size()) return std::nullopt;
    if (boxes.substr(4, 4) == type) return boxes.substr(header, size - header);
    boxes.remove_prefix(size);
  }
  return std::nullopt;
}

// The comment as QuickTime's metadata: moov, udta, meta (with 4 bytes of version), ilst, (c)cmt,
// data (with 8 bytes of type and language).
std::optional<std::string> mp4_comment(std::string_view bytes) {
  std::optional<std::string_view> at = bytes;
  for (auto [type, skipped] : {std::pair{"moov"sv, size_t{0}},
                               {"udta"sv, 0},
                               {"meta"sv, 4},
                               {"ilst"sv, 0},
                               {"\xa9"
                                "cmt"sv,
                                0},
                               {"data"sv, 8}}) {
    at = box(*at, type);
    if (!at || at->size() < skipped) return std::nullopt;
    at->remove_prefix(skipped);
  }
  if (at->size() > max_metadata_bytes) return std::nullopt;
  return std::string(*at);
}

std::optional<std::string> under_key(const ImageMetadata& metadata, const char* key) {
  auto found = metadata.find(key);
  return found == metadata.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::optional<CarriedText> read_carried_text(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    fs::path first = path / "000000.png";
    if (!fs::is_regular_file(first, error)) return std::nullopt;
    return CarriedText{"frames", under_key(read_image_metadata(first), request_metadata_key),
                       std::nullopt};
  }
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  auto mapped = MappedFile::open(path);
  std::string_view bytes(reinterpret_cast<const char*>(mapped->bytes().data()),
                         mapped->bytes().size());
  if (auto format = sniff_image_format(bytes)) {
    ImageMetadata texts = read_image_metadata(path);
    return CarriedText{name_of(*format), under_key(texts, request_metadata_key),
                       under_key(texts, parameters_metadata_key)};
  }
  if (bytes.starts_with("GIF8")) return CarriedText{"gif", gif_comment(bytes), std::nullopt};
  if (bytes.size() > 8 && bytes.substr(4, 4) == "ftyp")
    return CarriedText{"mp4", mp4_comment(bytes), std::nullopt};
  return std::nullopt;
}

}  // namespace omnirt::io
