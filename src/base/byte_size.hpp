#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace omnirt {

// "6GB", "1.5 GiB", "800MB", "4096" (bytes): kB, MB, GB and TB are powers of 1000, KiB, MiB, GiB
// and TiB of 1024; letters of either case. Nothing for other texts, and for more than 2^60 bytes.
std::optional<uint64_t> parse_byte_size(std::string_view text);
// "1.24 GB", rounded up, so that what is read is enough.
std::string shown_byte_size(uint64_t bytes);

}  // namespace omnirt
