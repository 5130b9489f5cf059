#pragma once
#include <string>
#include <string_view>

namespace omnirt::io {

std::string utf8_from_latin1(std::string_view text);

// A key of ImageMetadata.
bool is_metadata_key(std::string_view key);

}  // namespace omnirt::io
