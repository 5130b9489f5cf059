#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace omnirt::io {

// SHA-256 (FIPS 180-4) of bytes that come in pieces.
class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  // The text's length goes in too, so that pieces cannot slide into each other.
  void add_counted(std::string_view text);
  // 64 hexadecimal digits; nothing may be added after it.
  std::string hex();

 private:
  void block(const std::byte* data);

  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_{};
  size_t held_ = 0;
  uint64_t total_ = 0;
};

}  // namespace omnirt::io
