#pragma once
// The files of tests/data/images, made by tools/goldens/images.py.
#include <zlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "io/file.hpp"
#include "io/image.hpp"
#include "source_paths.hpp"

namespace omnirt::io {

inline std::filesystem::path image_folder() {
  return source_path("tests/data/images");
}

inline std::string sample_bytes(const std::string& name) {
  return read_file(image_folder() / name, size_t{1} << 20);
}

inline Json image_index() {
  return read_json(image_folder() / "index.json");
}

struct Sample {
  std::string file;
  Image expected;
  bool has_grey = false;
  uint32_t grey_crc32 = 0;  // of Pillow's convert("L")
};

inline std::vector<Sample> image_samples() {
  const std::string pixels = sample_bytes("expected.bin");
  std::vector<Sample> samples;
  const Json index = image_index();
  for (const Json& row : index.at("samples")) {
    Sample sample;
    sample.file = row.at("file");
    sample.expected = Image::zeros(row.at("width"), row.at("height"), row.at("channels"));
    const size_t offset = row.at("offset");
    const std::string_view part =
        std::string_view(pixels).substr(offset, sample.expected.pixels.size());
    sample.expected.pixels.assign(part.begin(), part.end());
    sample.has_grey = row.contains("grey_crc32");
    if (sample.has_grey) sample.grey_crc32 = row.at("grey_crc32");
    samples.push_back(std::move(sample));
  }
  return samples;
}

// The noise of tools/goldens/images.py.
inline uint32_t checksum(const Image& image) {
  return static_cast<uint32_t>(crc32(0, image.pixels.data(), image.pixels.size()));
}

inline Image noise_image(int64_t width, int64_t height, int64_t channels) {
  Image image = Image::zeros(width, height, channels);
  uint32_t state = 1;
  for (uint8_t& value : image.pixels) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<uint8_t>(state >> 24);
  }
  return image;
}

// An image that lossy formats keep well.
inline Image smooth_image(int64_t width, int64_t height, int64_t channels) {
  Image image = Image::zeros(width, height, channels);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        image.row(y)[x * channels + c] = static_cast<uint8_t>(40 + x + (c + 1) * y / 2);
      }
    }
  }
  return image;
}

inline int64_t largest_difference(const Image& a, const Image& b) {
  int64_t largest = 0;
  for (size_t i = 0; i < a.pixels.size(); ++i) {
    largest = std::max<int64_t>(largest, std::abs(a.pixels[i] - b.pixels[i]));
  }
  return largest;
}

// The message of what `action` throws, or "" when it throws nothing of that kind.
template <class Expected, class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Expected& error) {
    return error.what();
  }
  return "";
}

}  // namespace omnirt::io
