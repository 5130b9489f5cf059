#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace omnirt::serve {

// Bytes of a body that a Range header names.
struct ByteRange {
  uint64_t from = 0, bytes = 0;  // no bytes: the range lies outside of the body
};

// What a Range header asks of a body of `size` bytes (RFC 9110, 14.2). Nothing for a header that is
// to be ignored: not in bytes, malformed, or of several ranges, which a server may answer whole.
std::optional<ByteRange> read_byte_range(std::string_view header, uint64_t size);

}  // namespace omnirt::serve
