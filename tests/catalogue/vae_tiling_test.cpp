// Autoencoders that go through images in tiles: files against diffusers' (tools/goldens/
// vae_tiling.py), what is refused, and memory plans that settle on tiles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "io/compare.hpp"
#include "io/image.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

fs::path goldens() {
  return source_path("tests/goldens/vae_tiling");
}

class VaeTiling : public ::testing::TestWithParam<std::string> {};

TEST_P(VaeTiling, EqualsTheReference) {
  const fs::path golden = goldens() / GetParam();
  GenerateRequest request = folder_request(golden);
  const io::Image expected = io::read_image(golden / "image.png");
  const io::Image made = written_images(request).at(0);
  ASSERT_EQ(made.width, expected.width);
  ASSERT_EQ(made.height, expected.height);
  EXPECT_GE(io::psnr(made, expected), 60);
  // The tiles took hold.
  request.config.erase("vae_tiling");
  request.config.erase("vae_tile_size");
  EXPECT_LT(io::psnr(written_images(request).at(0), expected), 60);
}

INSTANTIATE_TEST_SUITE_P(Goldens, VaeTiling, ::testing::ValuesIn(names_in(goldens())),
                         [](const auto& info) { return info.param; });

TEST(VaeTiles, AreRefusedWhereTheyDoNotFit) {
  auto message = [](const char* golden, const Json& config) {
    GenerateRequest request = golden_request(golden);
    request.config.update(config);
    Proposal proposal = engine().check(request);
    return proposal.errors.empty() ? std::string() : proposal.errors[0].message;
  };
  GenerateRequest request = golden_request("sd15/text2image");
  request.config["vae_tile_size"] = 64;
  EXPECT_EQ(message("sd15/text2image", {{"vae_tile_size", 64}}), "");
  EXPECT_THAT(engine().check(request).warnings,
              about("config.vae_tile_size", "has no effect without vae_tiling"));
  EXPECT_THAT(message("sd15/text2image", {{"vae_tiling", true}, {"vae_tile_size", 72}}),
              HasSubstr("not a multiple of 32 pixels"));
  EXPECT_THAT(message("sd15/text2image_tiny_vae", {{"vae_tiling", true}}),
              HasSubstr("AutoencoderTiny is not gone through in tiles"));
  EXPECT_EQ(message("sd15/text2image", {{"vae_tiling", true}, {"vae_tile_size", 64}}), "");
}

TEST(VaeTiles, AreSettledOnWhereABudgetCannotBeKeptWithout) {
  GenerateRequest request;
  request.model = source_path("models/emoji").string();
  request.task = "text2image";
  request.inputs["prompt"] = "red apple";
  request.config = {{"width", 384}, {"height", 384}, {"seed", 1}, {"num_inference_steps", 1}};
  auto least = [&](const Json& config) {
    GenerateRequest asked = request;
    asked.config.update(config);
    asked.config["memory_budget"] = "1MB";
    return engine().check(asked).memory_plan.value().predicted_peak_bytes;
  };
  const uint64_t whole = least({{"vae_tiling", false}}), tiled = least(Json::object());
  ASSERT_LT(tiled, whole);
  GenerateRequest fits = request;
  fits.config["memory_budget"] = std::to_string((whole + tiled) / 2);
  Proposal proposal = engine().check(fits);
  ASSERT_TRUE(proposal.ok()) << proposal.errors[0].message;
  const ConfigValue* settled = proposal.config.find("vae_tile_size");
  ASSERT_TRUE(settled);
  EXPECT_EQ(settled->origin, Origin::derived);
  ASSERT_FALSE(proposal.warnings.empty());
  EXPECT_THAT(proposal.warnings.back().message, HasSubstr("tiles"));
  // The same image as with these tiles asked for.
  request.config["vae_tiling"] = true;
  request.config["vae_tile_size"] = settled->value;
  EXPECT_TRUE(run(fits).image.equal(run(request).image));
}

}  // namespace
}  // namespace omnirt::testing
