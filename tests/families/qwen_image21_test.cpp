// Where Qwen-Image 2.1's tokens are, which of them each sees, and sizes of images to go by.
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "families/qwen_image21/places.hpp"
#include "families/qwen_image21/sizes.hpp"

namespace omnirt::testing {
namespace {

Tensor rows_of(const std::vector<float>& values, int64_t width) {
  return at::tensor(values).view({-1, width});
}

// As diffusers' QwenImage21Rope and build_qwenimage21_block_causal_mask have them for a text of
// three tokens with an image of 1x2 latents before the last.
TEST(QwenImage21Places, AnImageIsOneThingOfThePrompt) {
  const Tensor text = rows_of({1, 1, 1, 1, 1, 0}, 3);
  const qwen_image21::Places made =
      qwen_image21::places_of({.before = {2}, .images = {{1, 2}}, .text = 3, .made = {2, 1}}, text);
  EXPECT_TRUE(
      made.prefix_ids[0].equal(rows_of({0, 0, 0, 1, 1, 1, 4, 4, 4, 2, -1, -1, 2, -1, 0}, 3)));
  EXPECT_TRUE(made.sample_ids[0].equal(rows_of({5, -1, -1, 5, 0, -1}, 3)));
  ASSERT_EQ(made.prefix_mask.sizes().vec(), (std::vector<int64_t>{2, 5, 5}));
  EXPECT_TRUE(made.prefix_mask[0].equal(rows_of({1, 0, 0, 0, 0,  // of the text
                                                 1, 1, 0, 0, 0,  //
                                                 1, 1, 1, 1, 1,  // behind the image
                                                 1, 1, 0, 1, 1,  // of the image
                                                 1, 1, 0, 1, 1},
                                                5)));
  // No token sees padding.
  EXPECT_EQ(made.prefix_mask[1].select(1, 2).sum().item<float>(), 0);
  EXPECT_TRUE(made.prefix_mask[1].narrow(1, 0, 2).equal(made.prefix_mask[0].narrow(1, 0, 2)));
}

TEST(QwenImage21Sizes, ImagesToGoByAreInRgbaAndOfTheResolutionsPixels) {
  const io::Image first = io::Image::zeros(88, 72, 3);
  const std::vector<io::Image> further{io::Image::zeros(300, 100, 4)};
  const std::vector<io::Image> made = qwen_image21::resized_images(first, &further, 96);
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].channels, 4);
  EXPECT_EQ(made[0].width, 96);
  EXPECT_EQ(made[0].height, 96);
  EXPECT_EQ(made[0].pixels[3], 255);
  EXPECT_EQ(made[1].width, 160);
  EXPECT_EQ(made[1].height, 64);
  EXPECT_EQ(made[1].pixels[3], 0);
}

}  // namespace
}  // namespace omnirt::testing
