// Initial noise that a request brings in a file: what it means to each task, and what is refused.
// That it makes the reference's images is in goldens_test.cpp and video_test.cpp.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "pipeline/latents_file.hpp"
#include "tensor/generator.hpp"

namespace omnirt::testing {
namespace {
using ::testing::IsEmpty;

class GivenNoise : public ::testing::Test {
 protected:
  std::string file(const Tensor& latents, const Json& origin = Json::object()) {
    std::string path = folder_.file("noise.safetensors");
    write_latents(path, latents, origin);
    return path;
  }
  // A run of 64x64 pixels from these latents.
  GenerateRequest request(const std::string& model, const Tensor& latents) {
    GenerateRequest made = golden_request(model + "/text2image");
    made.config["width"] = made.config["height"] = 64;
    made.inputs["latents"] = file(latents);
    return made;
  }
  static std::vector<Finding> errors(const GenerateRequest& request) {
    return engine().check(request).errors;
  }

  TemporaryFolder folder_;
};

TEST_F(GivenNoise, ThatTheSeedWouldDrawMakesTheSeedsImage) {
  for (const char* model : {"sd15", "sdxl"}) {
    GenerateRequest own = golden_request(std::string(model) + "/text2image");
    own.config["width"] = own.config["height"] = 64;
    own.config["seed"] = 5;
    GenerateRequest given = own;
    given.inputs["latents"] = file(Noise(std::vector<uint64_t>{5}).randn({1, 4, 8, 8}));
    EXPECT_TRUE(run(given).image.equal(run(own).image)) << model;
  }
}

TEST_F(GivenNoise, SettlesTheSizeOfTheImage) {
  GenerateRequest given = request("sd15", at::randn({1, 4, 5, 13}));
  given.config.erase("width");
  given.config.erase("height");
  const Proposal proposal = engine().check(given);
  EXPECT_EQ(proposal.config.find("width")->value, 104);
  EXPECT_EQ(proposal.config.find("height")->value, 40);
}

TEST_F(GivenNoise, OfAnotherShapeIsRefusedWithBoth) {
  for (const char* model : {"sd15", "sdxl", "pixart_sigma"}) {
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{1, 4, 8, 9}, {1, 5, 8, 8}, {1, 2, 4, 8, 8}})
      EXPECT_THAT(errors(request(model, at::zeros(shape))),
                  about("inputs.latents", "this run's latents are {1, 4, 8, 8}"))
          << model << at::IntArrayRef(shape);
  }
}

TEST_F(GivenNoise, IsOneForAllImagesOrOneForEach) {
  GenerateRequest given = request("sd15", at::randn({2, 4, 8, 8}));
  given.config["num_images_per_prompt"] = 2;
  EXPECT_THAT(errors(given), IsEmpty());
  given.config["num_images_per_prompt"] = 3;
  EXPECT_THAT(errors(given), about("inputs.latents", "makes 3, and there are 2"));
}

TEST_F(GivenNoise, ThatIsNotFiniteIsRefused) {
  GenerateRequest given = request("sd15", at::full({1, 4, 8, 8}, INFINITY));
  try {
    run(given);
    FAIL() << "was taken";
  } catch (const InvalidRequest& refused) {
    EXPECT_THAT(refused.findings(), about("inputs.latents", "not finite"));
  }
}

TEST_F(GivenNoise, ThatARunMadeIsAWarning) {
  GenerateRequest given = request("sd15", at::randn({1, 4, 8, 8}));
  EXPECT_THAT(engine().check(given).warnings, IsEmpty());
  given.inputs["latents"] = file(at::randn({1, 4, 8, 8}), {{"request", Json::object()}});
  EXPECT_THAT(engine().check(given).warnings, about("inputs.latents", "what a run made"));
}

// A base model's latents continue in image2image, unless the request says otherwise.
TEST_F(GivenNoise, OfSdxlIsWhatTheTaskSays) {
  GenerateRequest given = request("sdxl", at::randn({1, 4, 8, 8}));
  given.task = "";
  EXPECT_EQ(engine().check(given).task, "image2image");
  given.task = "text2image";
  EXPECT_EQ(engine().check(given).task, "text2image");
}

TEST_F(GivenNoise, IsRefusedWhereATaskTakesNoneWithTheTaskThatDoes) {
  GenerateRequest given = golden_request("sd15/image2image");
  given.inputs["latents"] = file(at::randn({1, 4, 8, 8}));
  EXPECT_THAT(errors(given), about("inputs.latents", "task image2image has no such input"));
  EXPECT_THAT(errors(given).front().way_out, ::testing::HasSubstr("takes it for text2image"));
}

TEST_F(GivenNoise, AnInputOfAnotherFamilyIsRefusedWithItsName) {
  GenerateRequest given = golden_request("sd15/text2image");
  given.inputs["image_reference"] = "a.png";
  EXPECT_THAT(errors(given), about("inputs.image_reference", "no such input"));
  EXPECT_THAT(errors(given).front().way_out,
              ::testing::AllOf(::testing::HasSubstr("an input of"), ::testing::HasSubstr("flux2")));
}

}  // namespace
}  // namespace omnirt::testing
