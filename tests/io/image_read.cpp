#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>

#include "base/error.hpp"
#include "image_samples.hpp"
#include "io/image_embedded.hpp"

namespace omnirt::io {
namespace {

using namespace std::string_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal(const std::string& bytes, const ReadOptions& options = {}) {
  return message_of<InvalidFile>([&] { decode_image(bytes, "given.png", options); });
}

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

std::string deflated(const std::string& bytes) {
  std::string packed(compressBound(bytes.size()), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  packed.resize(size);
  return packed;
}

std::string png_chunk(const std::string& type, const std::string& body) {
  const std::string both = type + body;
  return big_endian(static_cast<uint32_t>(body.size())) + both +
         big_endian(static_cast<uint32_t>(
             crc32(0, reinterpret_cast<const Bytef*>(both.data()), both.size())));
}

// An 8-bit RGB PNG that declares a size and holds `rows` bytes of zeros.
std::string png_declaring(uint32_t width, uint32_t height, size_t rows) {
  return "\x89PNG\r\n\x1a\n" +
         png_chunk("IHDR", big_endian(width) + big_endian(height) + "\x08\x02\0\0\0"s) +
         png_chunk("IDAT", deflated(std::string(rows, '\0'))) + png_chunk("IEND", "");
}

// PNG and lossless WebP must have Pillow's pixels. For JPEG and lossy WebP the libraries may differ
// by version in how they round colour conversion and upsampling, though none does today: 1 of 255.
TEST(ImageReader, DecodesEverySampleAsPillowDoes) {
  const std::vector<Sample> samples = image_samples();
  ASSERT_EQ(samples.size(), 50U);
  for (const Sample& sample : samples) {
    const Image image = read_image(image_folder() / sample.file);
    ASSERT_EQ(image.width, sample.expected.width) << sample.file;
    ASSERT_EQ(image.height, sample.expected.height) << sample.file;
    ASSERT_EQ(image.channels, sample.expected.channels) << sample.file;
    const bool lossy = sample.file.ends_with(".jpg") || sample.file.starts_with("lossy");
    EXPECT_LE(largest_difference(image, sample.expected), lossy ? 1 : 0) << sample.file;
  }
}

TEST(ImageReader, ProbesTheShapeThatItWillRead) {
  for (const Sample& sample : image_samples()) {
    const ImageInfo info = probe_image(image_folder() / sample.file);
    EXPECT_EQ(info.width, sample.expected.width) << sample.file;
    EXPECT_EQ(info.height, sample.expected.height) << sample.file;
    EXPECT_EQ(info.channels, sample.expected.channels) << sample.file;
  }
}

TEST(ImageReader, LeavesTheImageAsStoredWhenOrientationIsNotWanted) {
  ReadOptions options;
  options.apply_exif_orientation = false;
  const Image upright = read_image(image_folder() / "exif1.jpg");
  EXPECT_EQ(read_image(image_folder() / "exif6.jpg", options), upright);
  EXPECT_EQ(probe_image(image_folder() / "exif6.jpg", options).width, upright.width);
}

TEST(ImageReader, TakesTheFormatFromTheContentNotFromTheName) {
  EXPECT_EQ(probe_image_bytes(sample_bytes("lossy.webp"), "picture.png").format, ImageFormat::webp);
  EXPECT_EQ(probe_image_bytes(sample_bytes("grey.jpg"), "picture.png").format, ImageFormat::jpeg);
}

TEST(ImageReader, NamesWhatAFileOfAnotherKindLooksLike) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "an empty file"},
      {"GIF89a\x01\0\x01\0"s, "a GIF image"},
      {"BM\x9a\0\0\0"s, "a BMP image"},
      {"II*\0\x08\0\0\0"s, "a TIFF image"},
      {"\0\0\0\x20"
       "ftypavif\0\0\0\0"s,
       "an AVIF image"},
      {"\0\0\0\x18"
       "ftypheic\0\0\0\0"s,
       "a HEIC image"},
      {"\0\0\0\x18"
       "ftypmp42\0\0\0\0"s,
       "an MP4 or MOV video"},
      {"<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "an SVG drawing"},
      {"<?xml version=\"1.0\"?>\n<svg/>", "an SVG drawing"},
      {"<!DOCTYPE html><html></html>", "an HTML page"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00", "git-lfs pointer"},
      {"a picture of a cat", "text that starts with"},
      {"\x01\x02\x03\xff", "unknown binary data"},
  };
  for (const auto& [bytes, description] : cases) {
    EXPECT_THAT(refusal(bytes), AllOf(HasSubstr("given.png"), HasSubstr(description)));
  }
  EXPECT_THAT(refusal("GIF89a"), HasSubstr("PNG, JPEG or WebP"));
}

TEST(ImageReader, RefusesAFolderAndAMissingFile) {
  EXPECT_THROW(read_image(image_folder()), InvalidFile);
  EXPECT_THROW(read_image(image_folder() / "none.png"), InvalidFile);
  EXPECT_THROW(probe_image(image_folder() / "none.png"), InvalidFile);
}

TEST(ImageReader, RefusesAnImageOverTheLimitsFromItsHeader) {
  ReadOptions options;
  options.limits.max_side = 36;
  for (const char* file : {"rgb8.png", "rgb444.jpg", "lossless.webp", "animated.webp"}) {
    EXPECT_THAT(refusal(sample_bytes(file), options), AllOf(HasSubstr("37x29"), HasSubstr("36")));
    EXPECT_THROW(probe_image_bytes(sample_bytes(file), file, options), InvalidFile);
  }
  options.limits.max_side = 1000;
  options.limits.max_pixels = 37 * 29 - 1;
  EXPECT_THAT(refusal(sample_bytes("rgb8.png"), options), HasSubstr("1072"));
  options.limits.max_pixels = 37 * 29;
  EXPECT_EQ(refusal(sample_bytes("rgb8.png"), options), "");
}

TEST(ImageReader, RefusesAFileOverTheLimitOfBytes) {
  ReadOptions options;
  options.limits.max_file_bytes = 100;
  EXPECT_THAT(refusal(sample_bytes("rgb8.png"), options), HasSubstr("100"));
  EXPECT_THROW(read_image(image_folder() / "rgb8.png", options), InvalidFile);
}

TEST(ImageReader, RefusesSizesThatOverflow) {
  EXPECT_THAT(refusal(png_declaring(0x7fffffff, 0x7fffffff, 10)), HasSubstr("2147483647"));
  EXPECT_NE(refusal(png_declaring(0xffffffff, 1, 10)), "");
  EXPECT_NE(refusal(png_declaring(0, 5, 10)), "");
}

TEST(ImageReader, RefusesAHeaderThatTheFileIsTooShortFor) {
  EXPECT_THAT(refusal(png_declaring(8000, 8000, 10)), HasSubstr("too short"));
  std::string jpeg = sample_bytes("progressive.jpg");
  const size_t frame = jpeg.find("\xff\xc2");
  jpeg.replace(frame + 5, 4, "\x1f\x40\x1f\x40");  // 8000 x 8000
  EXPECT_THAT(refusal(jpeg), HasSubstr("too short"));
}

// A file cut anywhere is an error, also when all of its pixels are there but not its end.
TEST(ImageReader, RefusesEverySampleCutShortAnywhere) {
  for (const Sample& sample : image_samples()) {
    const std::string bytes = sample_bytes(sample.file);
    for (size_t length = 0; length < bytes.size(); length += 1 + length / 16) {
      EXPECT_NE(refusal(bytes.substr(0, length)), "") << sample.file << " cut to " << length;
    }
    EXPECT_NE(refusal(bytes.substr(0, bytes.size() - 1)), "") << sample.file;
  }
}

TEST(ImageReader, RefusesAJpegWhoseScanEndsEarly) {
  const std::string whole = sample_bytes("rgb444.jpg");
  EXPECT_THAT(refusal(whole.substr(0, whole.size() - 300) + "\xff\xd9"), HasSubstr("premature"));
}

// All coefficients of a JPEG in several scans are held at once: 384 MB for this one, whose scans a
// few kilobytes could fill.
TEST(ImageReader, RefusesAProgressiveJpegThatTakesTooMuchMemoryFromItsHeader) {
  std::string jpeg = sample_bytes("progressive.jpg");
  const size_t frame = jpeg.find("\xff\xc2");
  jpeg.replace(frame + 5, 4, "\x20\0\x20\0"s);  // 8192 x 8192
  jpeg[frame + 11] = 0x11;                      // no component at half the resolution
  jpeg.append(size_t{1} << 18, '\0');
  EXPECT_THAT(refusal(jpeg),
              AllOf(HasSubstr("8192x8192"), HasSubstr("384 MB"), HasSubstr("192 MB")));
  EXPECT_THROW(probe_image_bytes(jpeg, "given.jpg"), InvalidFile);
}

TEST(ImageReader, KeepsAMegabyteOfExifAtMost) {
  const std::string exif = "Exif\0\0"s + std::string(65000, 'x');
  const std::string segment =
      "\xff\xe1" + big_endian(static_cast<uint32_t>(exif.size() + 2)).substr(2) + exif;
  std::string jpeg = sample_bytes("rgb444.jpg"), many;
  for (int i = 0; i < 100; ++i) many += segment;
  jpeg.insert(2, many);
  EXPECT_LT(read_embedded(jpeg, ImageFormat::jpeg).exif.size(), size_t{3} << 19);
  EXPECT_EQ(refusal(jpeg), "");
}

// Of such a file it cannot be known what is missing: its decoder takes zeros for it.
TEST(ImageReader, RefusesArithmeticCoding) {
  std::string jpeg = sample_bytes("progressive.jpg");
  jpeg[jpeg.find("\xff\xc2") + 1] = '\xca';
  EXPECT_THAT(refusal(jpeg), HasSubstr("arithmetic coding"));
}

TEST(ImageReader, RefusesAPngWhosePixelsAreDamaged) {
  std::string png = sample_bytes("rgb8.png");
  png[png.find("IDAT") + 100] ^= 1;
  EXPECT_THAT(refusal(png), HasSubstr("IDAT"));
}

// The sample with more chunks after its header.
std::string png_with(const std::string& chunks) {
  std::string png = sample_bytes("rgb8.png");
  return png.insert(33, chunks);
}

TEST(ImageReader, ReadsTheTextsOfOtherProgramsInPng) {
  const std::string png = png_with(
      png_chunk("tEXt", "Author\0Ren\xe9"s) + png_chunk("zTXt", "notes\0\0"s + deflated("long")) +
      png_chunk("iTXt", "parameters\0\1\0en\0\0"s + deflated("\xe7\x8c\xab")));
  const ImageMetadata expected{
      {"Author", "Ren\xc3\xa9"}, {"notes", "long"}, {"parameters", "\xe7\x8c\xab"}};
  EXPECT_EQ(image_metadata(png, "x"), expected);
}

TEST(ImageReader, LeavesOutTextsThatInflateBeyondTheLimit) {
  const std::string bomb = png_chunk("zTXt", "bomb\0\0"s + deflated(std::string(1 << 25, 'x')));
  const std::string note = png_chunk("tEXt", "note\0kept"s);
  EXPECT_EQ(image_metadata(png_with(note + bomb + bomb), "x"), ImageMetadata({{"note", "kept"}}));
  EXPECT_EQ(decode_image(png_with(bomb), "x"), read_image(image_folder() / "rgb8.png"));
}

}  // namespace
}  // namespace omnirt::io
