#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "io/image.hpp"

namespace omnirt::io {

// Texts as XMP (ISO 16684-1): each is a property of the namespace urn:omnirt:metadata:1.0: in one
// packet. Markup characters and quotes are escaped, so no text can pass for another property.
std::string xmp_packet(const ImageMetadata& metadata);

// The same as the APP1 segments of a JPEG (without marker and length). What does not fit into one
// segment goes into an Extended XMP (XMP specification part 3, 1.1.3.1), which exiftool joins.
std::vector<std::string> xmp_segments(const ImageMetadata& metadata);

// Of a packet that is read: six bytes for each of a text's at most max_metadata_bytes, and the
// markup around.
inline constexpr size_t max_xmp_packet_bytes = 6 * max_metadata_bytes + (size_t{1} << 16);

// What an APP segment of a JPEG holds: its length field counts itself and is 16 bits, 65535 - 2.
inline constexpr size_t max_app_segment_bytes = 65533;
inline constexpr std::string_view xmp_segment_name{"http://ns.adobe.com/xap/1.0/\0", 29};
inline constexpr std::string_view xmp_extension_name{"http://ns.adobe.com/xmp/extension/\0", 35};

// The extended packet from APP1 bodies that start with xmp_extension_name, in file order; "" when
// they do not join to the whole that they declare.
std::string join_extended_xmp(const std::vector<std::string_view>& segments);

// The texts of a packet that `xmp_packet` wrote or that another program rewrote; others' properties
// are skipped. Never throws on malformed text.
ImageMetadata parse_xmp(std::string_view packet);

}  // namespace omnirt::io
