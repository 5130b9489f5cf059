#include "io/image_mask.hpp"

#include <gtest/gtest.h>

#include "io/image_samples.hpp"

namespace omnirt::io {
namespace {

// Made by tools/goldens/image_masks.py.
Json stored(const char* part) {
  return read_json(image_folder() / "masks.json").at(part);
}

// One channel range of an image, as an image of its own.
Image channels_of(const std::vector<uint8_t>& pixels, int64_t width, int64_t height, int64_t all,
                  int64_t first, int64_t count) {
  Image image = Image::zeros(width, height, count);
  for (int64_t i = 0; i < width * height; ++i)
    std::copy_n(pixels.data() + i * all + first, count, image.pixels.data() + i * count);
  return image;
}

TEST(ImageFit, EqualsTheReferenceBitForBit) {
  const Json rows = stored("fits");
  ASSERT_EQ(rows.size(), 72U);
  for (const Json& row : rows) {
    const ImageFit fit = *choice_of<ImageFit>(row[0].get<std::string>());
    const Image fitted = fit_image(noise_image(row[1], row[2], 3), row[3], row[4], fit);
    EXPECT_EQ(checksum(fitted), row[5].get<uint32_t>()) << row.dump();
  }
}

TEST(ImageMask, IsBlurredAsPillowDoesBitForBit) {
  for (const Json& row : stored("blurs")) {
    const Image blurred = gaussian_blur(noise_image(row[0], row[1], 1), row[2].get<double>());
    EXPECT_EQ(checksum(blurred), row[3].get<uint32_t>()) << row.dump();
  }
}

TEST(ImageMask, IsCutOutWhereTheReferenceDoes) {
  for (const Json& row : stored("regions")) {
    Image mask = Image::zeros(64, 48, 1);
    for (int64_t y = row[1]; y <= row[3]; ++y)
      for (int64_t x = row[0]; x <= row[2]; ++x) mask.row(y)[x] = 1;
    const auto region = masked_region(mask, row[4], row[5], row[6]);
    ASSERT_TRUE(region);
    const Region expected{row[7], row[8], row[9].get<int64_t>() - row[7].get<int64_t>(),
                          row[10].get<int64_t>() - row[8].get<int64_t>()};
    EXPECT_EQ(*region, expected) << row.dump();
    EXPECT_NO_THROW(crop(mask, *region));
  }
  EXPECT_FALSE(masked_region(Image::zeros(5, 4, 1), 8, 8, 100));
}

TEST(ImageMask, PutsTheOriginalBackBitForBit) {
  for (const Json& row : stored("overlays")) {
    const int64_t width = row[0], height = row[1];
    // Seven channels side by side: as many rows of noise, of one channel.
    const std::vector<uint8_t> noise = noise_image(width, 7 * height, 1).pixels;
    const Image made = put_back(channels_of(noise, width, height, 7, 1, 3),
                                channels_of(noise, width, height, 7, 4, 3),
                                channels_of(noise, width, height, 7, 0, 1));
    EXPECT_EQ(checksum(made), row[2].get<uint32_t>()) << row.dump();
  }
}

}  // namespace
}  // namespace omnirt::io
