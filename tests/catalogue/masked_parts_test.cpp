// Inpainting only the masked part, blurred masks, fitted images: files against diffusers'
// (tools/goldens/masked_parts.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "catalogue/support.hpp"
#include "io/compare.hpp"
#include "io/image.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;

fs::path goldens() {
  return source_path("tests/goldens/masked_parts");
}

class MaskedParts : public ::testing::TestWithParam<std::string> {};

// 8-bit images: 60 dB are one in sixty values that rounded the other way.
TEST_P(MaskedParts, EqualTheReference) {
  const fs::path golden = goldens() / GetParam();
  const io::Image made = written_image(folder_request(golden));
  const io::Image expected = io::read_image(golden / "image.png");
  ASSERT_EQ(made.width, expected.width);
  ASSERT_EQ(made.height, expected.height);
  EXPECT_GE(io::psnr(made, expected), 60);
}

INSTANTIATE_TEST_SUITE_P(Goldens, MaskedParts, ::testing::ValuesIn(names_in(goldens())),
                         [](const auto& info) { return info.param; });

GenerateRequest part_request() {
  return folder_request(goldens() / "sd15_part");
}

TEST(MaskedPart, LeavesAllOutsideOfItAsItWas) {
  GenerateRequest request = part_request();
  const io::Image original = io::to_rgb(io::read_image(request.inputs["image"].get<std::string>()));
  const io::Image mask = io::to_grey(io::read_image(request.inputs["mask"].get<std::string>()));
  const io::Image made = written_image(request);
  size_t changed = 0;
  for (size_t i = 0; i < mask.pixels.size(); ++i) {
    const bool equal = std::equal(made.pixels.begin() + 3 * i, made.pixels.begin() + 3 * i + 3,
                                  original.pixels.begin() + 3 * i);
    if (mask.pixels[i] == 0) EXPECT_TRUE(equal) << "pixel " << i;
    changed += !equal;
  }
  EXPECT_GT(changed, 100U);
}

TEST(MaskedPart, IsTheSameImageInASplitRun) {
  TemporaryFolder folder;
  GenerateRequest first = part_request(), second;
  const io::Image whole = written_image(first);
  const std::string state = (folder.path() / "state.safetensors").string();
  first.config["stop_after"] = "denoise";
  first.config["state"] = state;
  run(first);
  second.config["resume"] = state;
  EXPECT_EQ(written_image(second), whole);
}

std::string refusal_of(const GenerateRequest& request) {
  try {
    run(request);
  } catch (const InvalidRequest& refused) {
    return refused.what();
  }
  return "";
}

TEST(MaskedPart, OfABlackMaskIsRefused) {
  TemporaryFolder folder;
  const std::string mask = (folder.path() / "black.png").string();
  io::write_image(mask, io::Image::zeros(88, 72, 1));
  GenerateRequest request = part_request();
  request.inputs["mask"] = mask;
  EXPECT_THAT(refusal_of(request), ::testing::HasSubstr("black everywhere"));
}

TEST(MaskedPart, IsRefusedBesideEntities) {
  GenerateRequest request = part_request();
  request.inputs["entity_prompts"] = Json::array({"a ball"});
  request.inputs["entity_masks"] = Json::array({request.inputs["mask"]});
  EXPECT_THAT(refusal_of(request), ::testing::HasSubstr("padding_mask_crop"));
}

}  // namespace
}  // namespace omnirt::testing
