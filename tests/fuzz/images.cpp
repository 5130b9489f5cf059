// Images of every format and what they embed: damaged bytes, with checksums repaired, and texts
// that were changed before they were put in.
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/json_text.hpp"
#include "fuzz/target.hpp"
#include "io/image.hpp"
#include "io/utf8.hpp"
#include "source_paths.hpp"

namespace omnirt::fuzz {
namespace {

using namespace omnirt::io;

std::vector<std::string> samples() {
  std::vector<std::string> all;
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_path("tests/data/images").string()))
    files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files) {
    std::string name = file.extension();
    if (name != ".png" && name != ".jpg" && name != ".webp") continue;
    std::ifstream stream(file, std::ios::binary);
    all.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return all;
}

constexpr const char* request =
    R"({"task": "text2image", "model": "emoji-sd", "inputs": {"prompt": "a \u00e9 & <cat>"},)"
    R"( "config": {"seed": 7, "guidance_scale": 7.5}})";

// A small image that embeds a request, as this program writes it; the packet of texts changed.
std::string with_request(Random& random) {
  constexpr std::array formats{ImageFormat::png, ImageFormat::jpeg, ImageFormat::webp};
  ImageFormat format = formats[below(formats.size(), random)];
  std::string text = mutate_text(request, random);
  std::erase_if(text, [](unsigned char c) { return c < 0x20 || c > 0x7e; });
  static const std::string filler(70'000, 'x');  // more than one segment of a JPEG
  if (random() % 16 == 0) text += filler;
  return encode_image(Image::zeros(2, 2, 3), format,
                      {{request_metadata_key, text}, {"other", "1"}});
}

uint32_t crc_of(std::string_view bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (unsigned char byte : bytes) {
    crc ^= byte;
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

// Without this nearly every damaged PNG would stop at a checksum.
void mend_png(std::string& bytes) {
  auto u32 = [&](size_t at) {
    uint32_t value = 0;
    for (size_t k = 0; k < 4; ++k) value = value << 8 | static_cast<unsigned char>(bytes[at + k]);
    return value;
  };
  if (!bytes.starts_with("\x89PNG")) return;
  for (size_t at = 8; at + 12 <= bytes.size();) {
    size_t length = u32(at);
    if (length > bytes.size() - at - 12) return;
    uint32_t crc = crc_of(std::string_view(bytes).substr(at + 4, length + 4));
    for (size_t k = 0; k < 4; ++k)
      bytes[at + 8 + length + k] = static_cast<char>(crc >> (24 - 8 * k));
    at += 12 + length;
  }
}

void change_bytes(std::string& bytes, Random& random) {
  constexpr std::array interesting{0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff};
  for (size_t i = 0, count = 1 + below(5, random); i < count && !bytes.empty(); ++i) {
    // Headers decide more than pixels do.
    size_t at = below(random() % 2 ? bytes.size() : std::min<size_t>(bytes.size(), 200), random);
    bytes[at] =
        static_cast<char>(random() % 2 ? interesting[below(interesting.size(), random)] : random());
  }
}

}  // namespace

std::string make_input(Random& random) {
  static const std::vector<std::string> seeds = samples();
  std::string bytes = random() % 4 == 0 ? with_request(random) : seeds[below(seeds.size(), random)];
  switch (random() % 8) {
    case 0:
      return bytes;
    case 1:
      bytes = mutate_text(bytes, random);
      break;
    default:
      change_bytes(bytes, random);
  }
  mend_png(bytes);
  return bytes;
}

void read_input(std::string_view input) {
  ReadOptions options;
  options.limits = {.max_side = 4096, .max_pixels = 1 << 22, .max_file_bytes = 1 << 22};
  for (const auto& [key, text] : image_metadata(input, "fuzz")) {
    require(find_invalid_utf8(text) == std::string::npos, "a text is UTF-8");
    if (key == request_metadata_key) parse_json_or_text(text, "fuzz");
  }
  ImageInfo info = probe_image_bytes(input, "fuzz", options);
  Image image = decode_image(input, "fuzz", options);
  require(
      image.width == info.width && image.height == info.height && image.channels == info.channels,
      "a picture has the shape that its header says");
  require(image.pixels.size() == image.row_bytes() * static_cast<size_t>(image.height),
          "a picture has all its pixels");
}

}  // namespace omnirt::fuzz
