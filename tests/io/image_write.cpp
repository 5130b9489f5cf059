#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "image_samples.hpp"
#include "io/compare.hpp"
#include "io/image_md5.hpp"
#include "io/image_xmp.hpp"

namespace omnirt::io {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

constexpr std::array formats{ImageFormat::png, ImageFormat::jpeg, ImageFormat::webp};

ImageMetadata request_text(const std::string& text) {
  return {{request_metadata_key, text}};
}

std::string encoding_error(const Image& image, ImageFormat format, const ImageMetadata& metadata,
                           const EncodeOptions& options = {}) {
  return message_of<InvalidRequest>([&] { encode_image(image, format, metadata, options); });
}

class ImageFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("omnirt_images_"s + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST(ImageFormat, IsFoundByExtension) {
  EXPECT_EQ(image_format_from_path("a/b.WebP"), ImageFormat::webp);
  for (ImageFormat format : formats)
    EXPECT_EQ(image_format_from_path("x" + image_extension(format)), format);
  EXPECT_EQ(image_media_type(ImageFormat::jpeg), "image/jpeg");
}

TEST(ImageFormat, RefusesUnknownExtensions) {
  EXPECT_THAT(message_of<InvalidRequest>([] { image_format_from_path("out.gif"); }),
              HasSubstr(".gif"));
  EXPECT_THAT(message_of<InvalidRequest>([] { image_format_from_path("out"); }),
              HasSubstr("no extension"));
}

TEST(ImageWriter, KeepsEveryPixelInPngAndLosslessWebp) {
  EncodeOptions lossless;
  lossless.lossless = true;
  for (int64_t channels : {1, 3, 4}) {
    const Image image = noise_image(33, 17, channels);
    EXPECT_EQ(decode_image(encode_image(image, ImageFormat::png), "png"), image);
    const Image expected = channels == 1 ? to_rgb(image) : image;  // WebP has no grey
    EXPECT_EQ(decode_image(encode_image(image, ImageFormat::webp, {}, lossless), "webp"), expected);
  }
}

// libjpeg-turbo 2.1 reaches 51.7 dB and libwebp 1.2 48.5 dB; the floors leave room for other
// versions.
TEST(ImageWriter, KeepsLossyImagesClose) {
  const Image image = smooth_image(64, 48, 3);
  EXPECT_GT(psnr(decode_image(encode_image(image, ImageFormat::jpeg), "jpeg"), image), 46);
  EXPECT_GT(psnr(decode_image(encode_image(image, ImageFormat::webp), "webp"), image), 44);
  const Image grey = smooth_image(64, 48, 1);
  EXPECT_EQ(decode_image(encode_image(grey, ImageFormat::jpeg), "jpeg").channels, 1);
}

TEST(ImageWriter, WritesSmallerFilesAtLowerQuality) {
  const Image image = noise_image(64, 64, 3);
  EncodeOptions low;
  low.quality = 30;
  for (ImageFormat format : {ImageFormat::jpeg, ImageFormat::webp}) {
    EXPECT_LT(encode_image(image, format, {}, low).size(), encode_image(image, format).size() / 2);
  }
}

TEST(ImageWriter, GivesTheSameBytesForTheSameImage) {
  const Image image = noise_image(40, 30, 4);
  const ImageMetadata metadata{{"omnirt", "{}"}, {"Software", "OmniRT"}};
  EXPECT_EQ(encode_image(image, ImageFormat::png, metadata),
            encode_image(image, ImageFormat::png, metadata));
}

TEST(ImageWriter, RefusesWhatAFormatCannotHold) {
  const Image rgba = noise_image(4, 4, 4);
  EXPECT_THAT(encoding_error(rgba, ImageFormat::jpeg, {}), HasSubstr("no transparency"));
  const Image wide = Image::zeros(16384, 1, 1);
  EXPECT_THAT(encoding_error(wide, ImageFormat::webp, {}), HasSubstr("16383"));
  EXPECT_THAT(encoding_error(Image::zeros(65501, 1, 1), ImageFormat::jpeg, {}), HasSubstr("65500"));
}

TEST(ImageWriter, RefusesOptionsOutOfRange) {
  const Image image = noise_image(4, 4, 3);
  EncodeOptions options;
  options.quality = 101;
  EXPECT_THAT(encoding_error(image, ImageFormat::jpeg, {}, options), HasSubstr("1 to 100"));
  options = {};
  options.compression_level = 10;
  EXPECT_THAT(encoding_error(image, ImageFormat::png, {}, options), HasSubstr("0 to 9"));
}

TEST_F(ImageFile, IsWrittenInTheFormatOfItsExtension) {
  const Image image = noise_image(8, 8, 3);
  for (ImageFormat format : formats) {
    const auto path = folder_ / ("picture" + image_extension(format));
    write_image(path, image, request_text("{\"seed\":1}"));
    EXPECT_EQ(probe_image(path).format, format);
    EXPECT_EQ(read_image_metadata(path), request_text("{\"seed\":1}"));
  }
}

TEST_F(ImageFile, LeavesTheOldImageWhenTheNewOneIsRefused) {
  const auto path = folder_ / "picture.jpg";
  write_image(path, noise_image(8, 8, 3));
  const std::string before = read_file(path, 1 << 20);
  EXPECT_THROW(write_image(path, noise_image(8, 8, 4)), InvalidRequest);
  EXPECT_EQ(read_file(path, 1 << 20), before);
}

TEST(ImageMetadata, ComesBackFromEveryFormat) {
  const ImageMetadata metadata{{"Software", "OmniRT"},
                               {request_metadata_key,
                                "{\"prompt\":\"un chat noir \xc3\xa9tonn\xc3\xa9, \xe7\x8c\xab "
                                "\xf0\x9f\x90\x88 <b>&amp;</b> "
                                "]]> 'x'\",\n\t\"seed\":7}"},
                               {"empty", ""}};
  for (ImageFormat format : formats) {
    for (int64_t channels : {1, 3}) {
      const std::string bytes = encode_image(noise_image(9, 7, channels), format, metadata);
      EXPECT_EQ(image_metadata(bytes, "x"), metadata) << name_of(format);
      EXPECT_EQ(decode_image(bytes, "x").width, 9);
    }
  }
}

TEST(ImageMetadata, HoldsAMegabyteOfText) {
  std::string text;
  while (text.size() < (size_t{1} << 20)) text += "{\"a\": \"<\xe7\x8c\xab>\"},\n";
  for (ImageFormat format : formats) {
    const std::string bytes = encode_image(noise_image(9, 7, 3), format, request_text(text));
    EXPECT_EQ(image_metadata(bytes, "x"), request_text(text)) << name_of(format);
  }
}

// Pillow looks for an orientation in XMP by a pattern over its text.
TEST(ImageMetadata, CannotTurnTheImage) {
  const ImageMetadata metadata =
      request_text("tiff:Orientation=\"6\" <tiff:Orientation>6</tiff:Orientation>");
  for (ImageFormat format : formats) {
    const std::string bytes = encode_image(smooth_image(9, 7, 3), format, metadata);
    EXPECT_EQ(probe_image_bytes(bytes, "x").width, 9);
    EXPECT_EQ(bytes.find("tiff:Orientation=\"6") == std::string::npos, format != ImageFormat::png);
  }
}

TEST(ImageMetadata, IsEmptyForAnImageWithout) {
  for (const char* file : {"rgb8.png", "rgb444.jpg", "lossless.webp"}) {
    EXPECT_TRUE(image_metadata(sample_bytes(file), file).empty());
  }
}

TEST(ImageMetadata, RefusesKeysAndTextsThatAFileCannotHold) {
  const Image image = noise_image(4, 4, 3);
  EXPECT_THAT(encoding_error(image, ImageFormat::png, {{"two words", ""}}), HasSubstr("a key is"));
  EXPECT_THAT(encoding_error(image, ImageFormat::png, {{"", ""}}), HasSubstr("a key is"));
  EXPECT_THAT(encoding_error(image, ImageFormat::webp, request_text("\xff")), HasSubstr("UTF-8"));
  EXPECT_THAT(encoding_error(image, ImageFormat::jpeg, request_text("a\0b"s)),
              HasSubstr("control character"));
  EXPECT_THAT(
      encoding_error(image, ImageFormat::png, request_text(std::string(max_metadata_bytes, 'x'))),
      HasSubstr("at most"));
}

TEST(ImageMetadata, IsReadFromXmpThatAnotherProgramRewrote) {
  const std::string compact =
      "<rdf:Description xmlns:ns1='urn:omnirt:metadata:1.0:' "
      "ns1:omnirt=\"{&quot;a&quot;:&#x732b;}\""
      " dc:title=\"no\"><ns1:other>b &lt; c</ns1:other></rdf:Description>";
  const ImageMetadata expected{{"omnirt", "{\"a\":\xe7\x8c\xab}"}, {"other", "b < c"}};
  EXPECT_EQ(parse_xmp(compact), expected);
}

TEST(ImageMetadata, IgnoresExtendedXmpThatDoesNotJoin) {
  const std::vector<std::string> segments = xmp_segments(request_text(std::string(200000, 'x')));
  ASSERT_EQ(segments.size(), 5U);
  const std::vector<std::string_view> parts(segments.begin() + 1, segments.end());
  EXPECT_EQ(parse_xmp(join_extended_xmp(parts)).size(), 1U);
  EXPECT_EQ(join_extended_xmp({parts[0], parts[2]}), "");
  EXPECT_EQ(join_extended_xmp({parts[0], parts[1]}), "");
  EXPECT_EQ(join_extended_xmp({parts[0].substr(0, 40)}), "");
}

// RFC 1321, A.5.
TEST(Md5, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(md5_hex(""), "D41D8CD98F00B204E9800998ECF8427E");
  EXPECT_EQ(md5_hex("message digest"), "F96B697D7CB7938D525A2F31AAF161D0");
  EXPECT_EQ(md5_hex("1234567890123456789012345678901234567890123456789012345678901234567890123456"
                    "7890"),
            "57EDF4A22BE3C955AC49DA2E2107B67A");
}

}  // namespace
}  // namespace omnirt::io
