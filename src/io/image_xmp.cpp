#include "io/image_xmp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "io/image_md5.hpp"
#include "io/image_text.hpp"
#include "io/utf8.hpp"

namespace omnirt::io {
namespace {

constexpr std::string_view name_space = "urn:omnirt:metadata:1.0:";
constexpr size_t max_entries = 4096;
constexpr size_t extension_header = xmp_extension_name.size() + 32 + 4 + 4;

std::string escape(std::string_view text) {
  std::string result;
  result.reserve(text.size() + text.size() / 4);
  for (char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string properties(const ImageMetadata& metadata) {
  std::string result;
  for (const auto& [key, value] : metadata) {
    if (key == parameters_metadata_key) continue;  // it is EXIF's
    result += fmt::format("<omnirt:{0}>{1}</omnirt:{0}>\n", key, escape(value));
  }
  return result;
}

std::string packet_around(const std::string& attributes, const std::string& body) {
  return fmt::format(
      "<?xpacket begin=\"\xef\xbb\xbf\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>\n"
      "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">\n"
      "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">\n"
      "<rdf:Description rdf:about=\"\" {}>\n{}</rdf:Description>\n</rdf:RDF>\n</x:xmpmeta>\n"
      "<?xpacket end=\"w\"?>",
      attributes, body);
}

std::string big_endian(size_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

size_t read_big_endian(std::string_view bytes) {
  size_t value = 0;
  for (char c : bytes.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

// The character that `&name;` means; "" when there is none.
std::string entity(std::string_view name) {
  if (name == "amp") return "&";
  if (name == "lt") return "<";
  if (name == "gt") return ">";
  if (name == "quot") return "\"";
  if (name == "apos") return "'";
  if (!name.starts_with('#')) return "";
  const int base = name.starts_with("#x") ? 16 : 10;
  name.remove_prefix(base == 16 ? 2 : 1);
  uint32_t code = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), code, base);
  const bool whole = error == std::errc{} && end == name.data() + name.size();
  std::string character;
  if (whole && code != 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)) {
    append_utf8(character, code);
  }
  return character;
}

std::string unescape(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    if (text.front() == '&') {
      const size_t end = text.substr(0, 12).find(';');
      const std::string character =
          end == std::string_view::npos ? "" : entity(text.substr(1, end - 1));
      if (!character.empty()) {
        result += character;
        text.remove_prefix(end + 1);
        continue;
      }
    }
    result += text.front();
    text.remove_prefix(1);
  }
  return result;
}

// The prefix that the packet uses for our namespace; programs that rewrite XMP may choose another.
std::string_view find_prefix(std::string_view packet) {
  const size_t uri = packet.find(name_space);
  if (uri == std::string_view::npos || uri < 2) return {};
  const std::string_view before = packet.substr(0, uri - 1);  // without the quote
  const size_t start = before.rfind("xmlns:");
  if (start == std::string_view::npos || !before.ends_with('=')) return {};
  const std::string_view prefix = before.substr(start + 6, before.size() - start - 7);
  return prefix.size() <= 32 ? prefix : std::string_view{};
}

void keep(ImageMetadata& found, std::string_view key, std::string_view escaped) {
  std::string text = unescape(escaped);
  if (is_metadata_key(key) && find_invalid_utf8(text) == std::string::npos)
    found.emplace(key, std::move(text));
}

// Reads one property whose name starts at `at`, and returns where to look on. As an element
// <p:key>text</p:key>, or as an attribute p:key="text".
size_t take_property(std::string_view packet, std::string_view prefix, size_t at,
                     ImageMetadata& found) {
  const size_t name_end = packet.find_first_of("=> \t\r\n/<", at);
  if (name_end == std::string_view::npos) return packet.size();
  const std::string_view key = packet.substr(at, name_end - at);
  if (packet[name_end] == '>') {
    const std::string closing = fmt::format("</{}{}>", prefix, key);
    const size_t end = packet.find('<', name_end + 1);
    if (end == std::string_view::npos) return packet.size();
    if (packet.substr(end).starts_with(closing)) {
      keep(found, key, packet.substr(name_end + 1, end - name_end - 1));
    }
    return end + 1;
  }
  if (packet[name_end] == '=' && name_end + 1 < packet.size()) {
    const char quote = packet[name_end + 1];
    if (quote != '"' && quote != '\'') return name_end + 1;
    const size_t end = packet.find(quote, name_end + 2);
    if (end == std::string_view::npos) return packet.size();
    keep(found, key, packet.substr(name_end + 2, end - name_end - 2));
    return end + 1;
  }
  return name_end + 1;
}

}  // namespace

std::string xmp_packet(const ImageMetadata& metadata) {
  return packet_around(fmt::format("xmlns:omnirt=\"{}\"", name_space), properties(metadata));
}

std::vector<std::string> xmp_segments(const ImageMetadata& metadata) {
  const std::string packet = xmp_packet(metadata);
  if (xmp_segment_name.size() + packet.size() <= max_app_segment_bytes) {
    return {std::string(xmp_segment_name) + packet};
  }
  const std::string guid = md5_hex(packet);
  std::vector<std::string> segments{
      std::string(xmp_segment_name) +
      packet_around(fmt::format("xmlns:xmpNote=\"http://ns.adobe.com/xmp/note/\" "
                                "xmpNote:HasExtendedXMP=\"{}\"",
                                guid),
                    "")};
  constexpr size_t step = max_app_segment_bytes - extension_header;
  for (size_t offset = 0; offset < packet.size(); offset += step) {
    segments.push_back(std::string(xmp_extension_name) + guid + big_endian(packet.size()) +
                       big_endian(offset) + packet.substr(offset, step));
  }
  return segments;
}

std::string join_extended_xmp(const std::vector<std::string_view>& segments) {
  std::string packet;
  std::string_view guid;
  size_t total = 0;
  for (std::string_view segment : segments) {
    if (segment.size() < extension_header) return "";
    segment.remove_prefix(xmp_extension_name.size());
    const size_t length = read_big_endian(segment.substr(32));
    const size_t offset = read_big_endian(segment.substr(36));
    if (guid.empty()) {
      guid = segment.substr(0, 32);
      total = length;
    }
    if (segment.substr(0, 32) != guid || length != total || offset != packet.size()) return "";
    packet += segment.substr(40);
    if (packet.size() > std::min(total, max_xmp_packet_bytes)) return "";
  }
  return packet.size() == total ? packet : "";
}

ImageMetadata parse_xmp(std::string_view packet) {
  ImageMetadata found;
  if (packet.size() > max_xmp_packet_bytes) return found;
  const std::string_view bare = find_prefix(packet);
  if (bare.empty()) return found;
  const std::string prefix = std::string(bare) + ":";
  size_t at = 0;
  while (found.size() < max_entries && (at = packet.find(prefix, at)) != std::string_view::npos) {
    const bool starts =
        at > 0 && std::string_view("< \t\r\n").find(packet[at - 1]) != std::string_view::npos;
    at = starts ? take_property(packet, prefix, at + prefix.size(), found) : at + prefix.size();
  }
  return found;
}

}  // namespace omnirt::io
