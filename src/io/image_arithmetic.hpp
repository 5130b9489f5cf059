#pragma once
#include <cstdint>

namespace omnirt::io {

// a * b / 255 of values of 0 to 255, rounded, as Pillow's MULDIV255.
inline uint8_t multiply_255(unsigned a, unsigned b) {
  const unsigned product = a * b + 128;
  return static_cast<uint8_t>(((product >> 8) + product) >> 8);
}

}  // namespace omnirt::io
