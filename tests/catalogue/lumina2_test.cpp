// What is reported about requests to Lumina 2 before any weight is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;

GenerateRequest lumina2_request(const Json& config = Json::object()) {
  GenerateRequest made;
  made.model = source_path("tests/goldens/pipelines/lumina2/model").string();
  made.inputs["prompt"] = "apple";
  made.config = config;
  return made;
}

Proposal checked_lumina2(const GenerateRequest& request) {
  return engine().check(request, {});
}

TEST(Lumina2, IsKnownByItsFolderAndByTheNamesThatOthersUse) {
  Proposal made = checked_lumina2(lumina2_request({{"max_sequence_length", 60}}));
  EXPECT_THAT(made.errors, IsEmpty());
  EXPECT_EQ(made.spec->id, "lumina-image-2");
  EXPECT_EQ(made.config.find("num_inference_steps")->value, 30);
  EXPECT_EQ(made.config.find("guidance_scale")->value, 4.0);
  EXPECT_EQ(made.config.find("width")->value, 64);  // its own sample_size
  const ModelSpec* entry = engine().catalogue().find_entry("lumina2", "text2image");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->id, "lumina-image-2");
}

TEST(Lumina2, TakesSizesOfWholeTokensThatItHasPositionsFor) {
  EXPECT_THAT(checked_lumina2(lumina2_request({{"width", 40}, {"height", 64}})).errors,
              about("config.width", "multiple of 16"));
  EXPECT_THAT(checked_lumina2(lumina2_request({{"width", 64}, {"height", 656}})).errors,
              about("config.height", "positions for 640 pixels"));
}

TEST(Lumina2, RefusesTextsThatItHasNoPositionsFor) {
  GenerateRequest request = lumina2_request();
  request.inputs["prompt"] = std::string(100, 'x');
  EXPECT_THAT(checked_lumina2(request).errors, about("inputs.prompt", "80 positions"));
  request.config["max_sequence_length"] = 79;
  EXPECT_THAT(checked_lumina2(request).errors, IsEmpty());
  request.config["max_sequence_length"] = 513;
  EXPECT_THAT(checked_lumina2(request).errors,
              about("config.max_sequence_length", "more than 512"));
}

TEST(Lumina2, RefusesWhatItDoesNotHave) {
  EXPECT_THAT(checked_lumina2(lumina2_request({{"cache", "deep"}})).errors, about("config.cache"));
  EXPECT_THAT(checked_lumina2(lumina2_request({{"scheduler", "ddim"}})).errors,
              about("config.scheduler", "cannot be given"));
}

}  // namespace
}  // namespace omnirt::testing
