#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "image_samples.hpp"
#include "io/compare.hpp"
#include "io/image_resize.hpp"

namespace omnirt::io {
namespace {

Image row_of(std::vector<uint8_t> pixels, int64_t channels) {
  const auto width = static_cast<int64_t>(pixels.size()) / channels;
  return {width, 1, channels, std::move(pixels)};
}

using Resize = Image (*)(const Image&, int64_t, int64_t);

Resize resize_by_name(const std::string& name) {
  if (name == "nearest") return resize_nearest;
  if (name == "bilinear") return resize_bilinear;
  return name == "bicubic" ? resize_bicubic : resize_lanczos;
}

TEST(ImageConversion, DropsAlphaAndRepeatsGreyForRgb) {
  EXPECT_EQ(to_rgb(row_of({1, 2, 3, 0, 4, 5, 6, 255}, 4)), row_of({1, 2, 3, 4, 5, 6}, 3));
  EXPECT_EQ(to_rgb(row_of({7, 9}, 1)), row_of({7, 7, 7, 9, 9, 9}, 3));
}

TEST(ImageConversion, MakesGreyAsPillowDoes) {
  for (const Sample& sample : image_samples()) {
    if (sample.has_grey) {
      EXPECT_EQ(checksum(to_grey(sample.expected)), sample.grey_crc32) << sample.file;
    }
  }
}

TEST(ImageConversion, TurnsBackWithTheOppositeOrientation) {
  const Image image = noise_image(5, 3, 3);
  EXPECT_EQ(orient(orient(image, 6), 8), image);
  for (int self_inverse : {2, 3, 4, 5, 7}) {
    EXPECT_NE(orient(image, self_inverse), image);
    EXPECT_EQ(orient(orient(image, self_inverse), self_inverse), image);
  }
  EXPECT_EQ(orient(image, 1), image);
  EXPECT_EQ(orient(image, 99), image);
}

// 336 cases: every filter, grey, RGB and RGBA, larger and smaller, sides from 1; equal bit for bit.
TEST(ImageResize, EqualsPillowBitForBit) {
  const Json index = image_index();
  ASSERT_EQ(index.at("resizes").size(), 336U);
  for (const Json& row : index.at("resizes")) {
    const Image source = noise_image(row[2], row[3], row[1]);
    const Image resized = resize_by_name(row[0])(source, row[4], row[5]);
    EXPECT_EQ(checksum(resized), row[6].get<uint32_t>()) << row.dump();
  }
}

TEST(ImageResize, RefusesSizesOutOfRange) {
  const Image image = noise_image(4, 4, 3);
  EXPECT_THROW(resize_lanczos(image, 0, 4), InvalidRequest);
  EXPECT_THROW(resize_nearest(image, 4, -1), InvalidRequest);
  EXPECT_THROW(resize_bicubic(image, 16384, 16384), InvalidRequest);
}

TEST(ImageSheet, CentresImagesInCellsOfTheLargest) {
  const std::vector<Image> images{row_of({10}, 1), row_of({1, 2, 3, 4, 5, 6, 7, 8, 9}, 3),
                                  row_of({20}, 1)};
  const Image sheet = make_sheet(images, 2, 1, {9, 8, 7});
  ASSERT_EQ(sheet.width, 9);   // 1 + 3 + 1 + 3 + 1
  ASSERT_EQ(sheet.height, 5);  // 1 + 1 + 1 + 1 + 1
  EXPECT_EQ(sheet.row(1)[2 * 3], 10);
  EXPECT_EQ(sheet.row(1)[5 * 3], 1);
  EXPECT_EQ(sheet.row(1)[7 * 3 + 2], 9);
  EXPECT_EQ(sheet.row(3)[2 * 3], 20);
  EXPECT_EQ(sheet.row(0)[0], 9);
  EXPECT_EQ(sheet.row(3)[6 * 3 + 1], 8);
}

TEST(ImageSheet, HasNoMoreColumnsThanImages) {
  const std::vector<Image> images{noise_image(2, 2, 3)};
  EXPECT_EQ(make_sheet(images, 8, 0), images[0]);
}

TEST(ImageSheet, RefusesWhatCannotBeLaidOut) {
  const std::vector<Image> one{noise_image(2, 2, 3)};
  EXPECT_THROW(make_sheet({}, 1, 0), InvalidRequest);
  EXPECT_THROW(make_sheet(one, 0, 0), InvalidRequest);
  EXPECT_THROW(make_sheet(one, 1, -1), InvalidRequest);
  EXPECT_THROW(make_sheet(one, 1, 10000), InvalidRequest);
}

TEST(Psnr, IsInfiniteForEqualImagesAndFollowsTheDefinitionOtherwise) {
  const Image image = row_of({0, 100, 200, 255}, 1);
  EXPECT_TRUE(std::isinf(psnr(image, image)));
  // One of four values differs by 2: a mean square of 1 is 20 log10(255).
  EXPECT_NEAR(psnr(image, row_of({2, 100, 200, 255}, 1)), 48.1308, 1e-4);
}

TEST(Psnr, RefusesImagesOfDifferentShape) {
  EXPECT_THROW(psnr(noise_image(2, 3, 1), noise_image(3, 2, 1)), InvalidRequest);
}

}  // namespace
}  // namespace omnirt::io
