// Sizes of FLUX.3's reference images, and what is around them on their canvas.
#include <gtest/gtest.h>

#include "families/flux3/references.hpp"
#include "families/flux3/sizes.hpp"

namespace omnirt::testing {
namespace {

using flux3::Size;

// As diffusers' Flux3ImageProcessor has them (_resize_if_canvas_exceeds_area, _get_fill_region).
TEST(Flux3Sizes, ASingleImageIsKeptWholeOnACanvasOfAtMostFourMegapixels) {
  auto of = [](int64_t height, int64_t width) { return flux3::placed({height, width}, 16); };
  EXPECT_EQ(of(72, 88).canvas, (Size{80, 96}));
  EXPECT_EQ(of(72, 88).image, (Size{72, 88}));
  EXPECT_EQ(of(10, 1000).canvas, (Size{64, 1008}));
  EXPECT_EQ(of(2048, 2048).canvas, (Size{2048, 2048}));
  const flux3::Placed large = of(3000, 4000);
  EXPECT_LE(large.canvas.height * large.canvas.width, 4 << 20);
  EXPECT_LE(large.image.height, large.canvas.height);
  EXPECT_LE(large.image.width, large.canvas.width);
  EXPECT_LE(of(100, 16000).canvas.width, 4096);
  const io::Region region = of(72, 88).region();
  EXPECT_EQ(region, (io::Region{4, 4, 88, 72}));
}

// Flux3ImageProcessor's grid is 16 pixels, whatever the autoencoder: an image of 40 x 100 gets a
// canvas of 64 x 112 also where a packed latent takes 4 or 8 pixels.
TEST(Flux3Sizes, OfReferenceImagesAreMultiplesOfSixteenForAnyAutoencoder) {
  for (int64_t pixels_of_latent : {4, 8, 16}) {
    const int64_t grid = flux3::image_grid(pixels_of_latent);
    EXPECT_EQ(grid, 16) << pixels_of_latent;
    EXPECT_EQ(flux3::placed({40, 100}, grid).canvas, (Size{64, 112}));
    EXPECT_EQ(flux3::in_whole_latents({40, 100}, grid), (Size{32, 96}));
  }
  // The reference's grid would leave half a latent here.
  EXPECT_EQ(flux3::image_grid(32), 32);
}

// numpy.pad([0, 1, 2], 4, mode="reflect") and mode="symmetric".
TEST(Flux3References, AreReflectedOverTheirEdges) {
  io::Image image = io::Image::zeros(3, 1, 1);
  image.pixels = {0, 1, 2};
  EXPECT_EQ(flux3::reflected_to(image, {1, 11}, 0).pixels,
            (std::vector<uint8_t>{0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2}));
  EXPECT_EQ(flux3::reflected_to(image, {1, 11}, 16).pixels,
            (std::vector<uint8_t>{2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0}));
}

}  // namespace
}  // namespace omnirt::testing
