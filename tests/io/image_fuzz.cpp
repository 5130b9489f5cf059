// Seeded damage to every sample: the outcome is an image or InvalidFile, nothing else.
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

#include "base/error.hpp"
#include "image_samples.hpp"

namespace omnirt::io {
namespace {

constexpr int mutations_per_sample = 2000;

using Random = std::mt19937;

size_t below(Random& random, size_t limit) {
  return limit == 0 ? 0 : random() % limit;
}

void change_byte(std::string& bytes, Random& random) {
  constexpr std::array interesting{0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff};
  if (bytes.empty()) return;
  char& byte = bytes[below(random, bytes.size())];
  switch (below(random, 3)) {
    case 0:
      byte = static_cast<char>(byte ^ (1 << below(random, 8)));
      break;
    case 1:
      byte = static_cast<char>(interesting[below(random, interesting.size())]);
      break;
    default:
      byte = static_cast<char>(random());
  }
}

void move_part(std::string& bytes, Random& random) {
  const size_t from = below(random, bytes.size());
  const std::string part = bytes.substr(from, 1 + below(random, 40));
  if (below(random, 2) == 0) bytes.erase(from, part.size());
  bytes.insert(below(random, bytes.size() + 1), part);
}

std::string mutate(std::string bytes, Random& random) {
  const size_t kind = below(random, 8);
  if (kind == 0) bytes.resize(below(random, bytes.size() + 1));
  if (kind == 1) move_part(bytes, random);
  // Headers decide more than pixels do, so half of the damage is there.
  for (size_t i = 0; i <= below(random, 6); ++i) {
    std::string head = bytes.substr(0, below(random, 2) == 0 ? 200 : bytes.size());
    const size_t length = head.size();
    change_byte(head, random);
    bytes.replace(0, length, head);
  }
  return bytes;
}

uint32_t read_u32(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t k = 0; k < 4; ++k) value = value << 8 | static_cast<unsigned char>(bytes[at + k]);
  return value;
}

// Without this nearly every damaged PNG would stop at a checksum.
void mend_png_checksums(std::string& bytes) {
  for (size_t at = 8; at + 12 <= bytes.size();) {
    const size_t length = read_u32(bytes, at);
    if (length > bytes.size() - at - 12) return;
    const auto crc = crc32(0, reinterpret_cast<const Bytef*>(bytes.data() + at + 4),
                           static_cast<uInt>(length + 4));
    for (size_t k = 0; k < 4; ++k)
      bytes[at + 8 + length + k] = static_cast<char>(crc >> (24 - 8 * k));
    at += 12 + length;
  }
}

// The outcome of one reading: whether an image came out.
bool reads(const std::string& bytes, const ReadOptions& options) {
  try {
    const Image image = decode_image(bytes, "fuzzed", options);
    EXPECT_EQ(image.pixels.size(), image.row_bytes() * image.height);
    const ImageInfo info = probe_image_bytes(bytes, "fuzzed", options);
    EXPECT_EQ(info.width, image.width);
    EXPECT_EQ(info.height, image.height);
    EXPECT_EQ(info.channels, image.channels);
    image_metadata(bytes, "fuzzed");
    return true;
  } catch (const InvalidFile&) {
    return false;
  }
}

TEST(ImageFuzz, DamagedFilesGiveAnImageOrInvalidFile) {
  ReadOptions options;
  options.limits.max_pixels = 1 << 16;  // time, not safety
  Random random(2024);
  int pictures = 0;
  int refused = 0;
  const ImageMetadata metadata{{"omnirt", "{\"prompt\":\"a cat\"}"}};
  std::vector<std::string> originals;
  for (const Sample& sample : image_samples()) originals.push_back(sample_bytes(sample.file));
  for (ImageFormat format : {ImageFormat::png, ImageFormat::jpeg, ImageFormat::webp}) {
    originals.push_back(encode_image(smooth_image(20, 10, 3), format, metadata));
  }
  for (const std::string& original : originals) {
    for (int i = 0; i < mutations_per_sample; ++i) {
      std::string bytes = mutate(original, random);
      if (bytes.starts_with("\x89PNG") && i % 4 != 0) mend_png_checksums(bytes);
      ++(reads(bytes, options) ? pictures : refused);
    }
  }
  // Both outcomes must be common, or the damage is too weak or too strong to say anything.
  EXPECT_GT(pictures, 5000);
  EXPECT_GT(refused, 20000);
}

}  // namespace
}  // namespace omnirt::io
