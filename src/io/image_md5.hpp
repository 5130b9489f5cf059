#pragma once
#include <string>
#include <string_view>

namespace omnirt::io {

// MD5 (RFC 1321) as 32 upper-case hexadecimal digits: the name that Extended XMP uses for a packet.
// It is no protection.
std::string md5_hex(std::string_view bytes);

}  // namespace omnirt::io
