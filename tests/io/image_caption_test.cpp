#include "io/image_caption.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace omnirt::io {
namespace {

constexpr int64_t line = 15, margin = 6;

std::vector<Image> captioned(const std::vector<std::string>& captions, int64_t width = 60) {
  return with_captions(std::vector<Image>(captions.size(), Image::zeros(width, 20, 1)), captions);
}

// The darkest level of a row next to its neighbours: 255 where nothing is written.
int darkest(const Image& image, int64_t row) {
  return *std::min_element(image.row(row), image.row(row) + image.row_bytes());
}

bool written(const Image& image, int64_t from) {
  for (int64_t row = from; row < std::min(from + line, image.height); ++row) {
    if (darkest(image, row) < 100) return true;
  }
  return false;
}

TEST(Captions, StandBelowTheImagesWhichStayAsTheyAre) {
  Image page = captioned({"apple"}).front();
  EXPECT_EQ(page.width, 60);
  EXPECT_EQ(page.height, 20 + margin + line);
  EXPECT_TRUE(std::all_of(page.row(0), page.row(20), [](uint8_t level) { return level == 0; }));
  EXPECT_EQ(darkest(page, 20), 255);
  EXPECT_TRUE(written(page, 20 + margin));
}

TEST(Captions, AreBrokenBetweenWordsAndAllAreAsHigh) {
  std::vector<Image> pages = captioned({"apple", "a lemon and a rocket"});
  EXPECT_EQ(pages[0].height, pages[1].height);
  EXPECT_EQ(pages[1].height, 20 + margin + 3 * line);
  EXPECT_FALSE(written(pages[0], 20 + margin + line));
  EXPECT_TRUE(written(pages[1], 20 + margin + 2 * line));
}

TEST(Captions, OfAnyTextAndWidthStayInside) {
  for (const char* text : {"", "caf\xc3\xa9 \x01\xff", "a word much wider than its image is"})
    EXPECT_EQ(captioned({text}, 3).front().width, 3) << text;
}

}  // namespace
}  // namespace omnirt::io
