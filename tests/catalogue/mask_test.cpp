// Masks as painting programs write them.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::testing {
namespace {
using ::testing::Not;

class Mask : public ::testing::Test {
 protected:
  // A mask of `channels`, whose left half is painted with `inside` and the rest with `outside`.
  GenerateRequest request(int64_t channels, std::vector<uint8_t> inside,
                          std::vector<uint8_t> outside) const {
    GenerateRequest made;
    made.model = source_path("tests/goldens/pipelines/sd15/model").string();
    made.inputs = {{"prompt", "a red apple"},
                   {"image", source_path("tests/goldens/pipelines/inputs/image.png").string()},
                   {"mask", file_.path().string()}};
    made.config = {{"num_inference_steps", 2}, {"seed", 3}};
    io::ImageInfo info = io::probe_image(made.inputs["image"].get<std::string>());
    io::Image mask = io::Image::zeros(info.width, info.height, channels);
    for (int64_t y = 0; y < mask.height; ++y) {
      for (int64_t x = 0; x < mask.width; ++x)
        std::ranges::copy(2 * x < mask.width ? inside : outside, mask.row(y) + x * channels);
    }
    io::write_image(file_.path(), mask);
    return made;
  }
  static std::vector<Finding> warnings(const GenerateRequest& request) {
    return validate(engine().catalogue(), request).warnings;
  }
  TemporaryPath file_{"mask.png"};
};

TEST_F(Mask, OfBlackAndWhiteIsTakenWithoutAWord) {
  EXPECT_THAT(warnings(request(1, {255}, {0})), Not(about("inputs.mask")));
}

TEST_F(Mask, ThatIsBlackEverywhereIsAWarning) {
  EXPECT_THAT(warnings(request(1, {0}, {0})), about("inputs.mask", "black everywhere"));
  EXPECT_THAT(warnings(request(4, {0, 0, 0, 255}, {0, 0, 0, 255})),
              about("inputs.mask", "black everywhere"));
}

TEST_F(Mask, OfOneColourIsReadFromItsAlphaChannel) {
  Tensor white = run(request(1, {255}, {0})).image;
  for (uint8_t colour : {uint8_t{0}, uint8_t{255}}) {
    GenerateRequest painted =
        request(4, {colour, colour, colour, 255}, {colour, colour, colour, 0});
    EXPECT_THAT(warnings(painted), about("inputs.mask", "alpha"));
    EXPECT_TRUE(at::equal(run(painted).image, white)) << int{colour};
  }
}

TEST_F(Mask, OfAPartIsLookedAtAlike) {
  GenerateRequest painted = request(4, {0, 0, 0, 255}, {0, 0, 0, 0});
  painted.config["padding_mask_crop"] = 4;
  EXPECT_THAT(warnings(painted), about("inputs.mask", "alpha"));
  GenerateRequest black = request(1, {0}, {0});
  black.config["padding_mask_crop"] = 4;
  EXPECT_THAT(warnings(black), Not(about("inputs.mask")));
  EXPECT_THAT(validate(engine().catalogue(), black).errors, about("inputs.mask", "no part"));
}

// As the reference reads it: its colours count, whatever is transparent.
TEST_F(Mask, OfColoursKeepsThem) {
  GenerateRequest coloured = request(4, {255, 255, 255, 0}, {0, 0, 0, 255});
  EXPECT_THAT(warnings(coloured), Not(about("inputs.mask")));
  Tensor image = run(coloured).image;
  EXPECT_TRUE(at::equal(image, run(request(1, {255}, {0})).image));
}

}  // namespace
}  // namespace omnirt::testing
