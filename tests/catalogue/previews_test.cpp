// Previews by the colours of latents, of each family that has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"
#include "io/image.hpp"
#include "io/temp_folder.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;

class Previews : public ::testing::TestWithParam<std::string> {};

GenerateRequest previewed(const std::string& golden, const fs::path& folder) {
  GenerateRequest request = golden_request(golden);
  request.config.update({{"num_inference_steps", 2},
                         {"preview_every", 1},
                         {"preview_dir", folder.string()},
                         {"preview_name", "{step}.png"},
                         {"preview_decoder", "linear"}});
  return request;
}

TEST_P(Previews, ShowEachStepWithoutChangingTheImage) {
  const TempFolder folder;
  GenerateRequest request = previewed(GetParam(), folder.path());
  const Tensor watched = run(request).image;
  for (const char* name : {"001.png", "002.png"}) {
    const io::Image image = io::read_image(folder.path() / name);
    EXPECT_GT(image.width * image.height, 1) << name;
    const auto [least, most] = std::ranges::minmax(image.pixels);
    EXPECT_LT(least, most) << name << " shows nothing";
  }
  for (const char* key : {"preview_every", "preview_dir", "preview_name", "preview_decoder"})
    request.config.erase(key);
  EXPECT_TRUE(run(request).image.equal(watched));
}

INSTANTIATE_TEST_SUITE_P(OfColours, Previews,
                         ::testing::Values("pixart_sigma/text2image", "sd3/text2image",
                                           "sd15/text2image", "sdxl/text2image"),
                         [](const auto& each) {
                           return each.param.substr(0, each.param.find('/'));
                         });

// The small models of the goldens have fewer latents than the published ones, whose colours these
// are.
TEST(Previews, AreDeclaredByFamiliesWhoseLatentsAreKnown) {
  std::set<std::string> declared;
  for (const Family& family : builtin_catalogue().families) {
    for (const auto& [id, means] : family.previews)
      if (!means.colours.empty()) declared.insert(family.name);
  }
  for (const char* name :
       {"aura_flow", "chroma", "flux", "flux2", "flux_kontext", "krea2", "lumina2", "pixart",
        "qwen_image", "qwen_image_edit", "sd3", "z_image", "z_image_omni"})
    EXPECT_TRUE(declared.contains(name)) << name;
}

TEST(Previews, AreRefusedByNameWhereAModelHasNoColours) {
  for (const char* golden :
       {"sana/text2image", "qwen_image_layered/edit", "flux3_klein/text2image"}) {
    const TempFolder folder;
    const Proposal proposal = engine().check(previewed(golden, folder.path()));
    ASSERT_FALSE(proposal.errors.empty()) << golden;
    EXPECT_EQ(proposal.errors.front().field, "config.preview_decoder") << golden;
  }
}

}  // namespace
}  // namespace omnirt::testing
