#include "io/image_exif.hpp"

#include <gtest/gtest.h>

namespace omnirt::io {
namespace {

using namespace std::string_view_literals;

TEST(ImageExif, ACommentComesBack) {
  for (std::string text : {"", "Steps: 20", "\xc3\xa4 \xe6\x97\xa5 \xf0\x9f\x8d\x8e\nend"})
    EXPECT_EQ(exif_comment(exif_with_comment(text)), text);
}

// As piexif writes it: big-endian, the text in UTF-16 of the same order.
TEST(ImageExif, ACommentHasTheBytesThatReadersExpect) {
  EXPECT_EQ(exif_with_comment("a"),
            "MM\0*\0\0\0\x08"
            "\0\x01\x87\x69\0\x04\0\0\0\x01\0\0\0\x1a\0\0\0\0"
            "\0\x01\x92\x86\0\x07\0\0\0\x0a\0\0\0\x2c\0\0\0\0"
            "UNICODE\0\0a"sv);
}

TEST(ImageExif, LittleEndianAndAsciiCommentsAreRead) {
  const std::string head("II*\0\x08\0\0\0\x01\0\x69\x87\x04\0\x01\0\0\0\x1a\0\0\0\0\0\0\0"sv);
  const std::string entry("\x01\0\x86\x92\x07\0\x0c\0\0\0\x2c\0\0\0\0\0\0\0"sv);
  EXPECT_EQ(exif_comment(head + entry + std::string("UNICODE\0a\0b\0"sv)), "ab");
  EXPECT_EQ(exif_comment(head + entry + std::string("ASCII\0\0\0abcd"sv)), "abcd");
  EXPECT_EQ(exif_comment(head + entry + std::string("JIS\0\0\0\0\0abcd"sv)), "");
}

TEST(ImageExif, OfDamagedBytesIsNothingOrAText) {
  const std::string whole = exif_with_comment("a comment of some length");
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    EXPECT_EQ(exif_comment(std::string_view(whole).substr(0, cut)), "") << cut;
    for (int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[cut] = static_cast<char>(damaged[cut] ^ flip);
      EXPECT_LE(exif_comment(damaged).size(), 2 * whole.size()) << cut;
      EXPECT_NO_THROW(exif_orientation(damaged));
    }
  }
}

}  // namespace
}  // namespace omnirt::io
