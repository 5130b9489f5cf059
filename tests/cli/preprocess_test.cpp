#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.hpp"
#include "io/image.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;

std::string golden(const std::string& name) {
  return source_path("tests/goldens/preprocess/").string() + name + ".png";
}

TEST(Preprocess, WritesWhatAControlNetReads) {
  Scratch scratch;
  const std::string made = scratch.file("edges.png");
  Ended ended = run_program(
      {"preprocess", "canny", golden("input"), "-o", made, "--set", "low=20", "--set", "high=60"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, made + "\n");
  EXPECT_EQ(io::read_image(made), io::read_image(golden("canny_low")));
}

TEST(Preprocess, NeverReplacesTheImageThatItReads) {
  Scratch scratch;
  const std::string given = scratch.file("given.png");
  const io::Image before = io::read_image(golden("input"));
  io::write_image(given, before);
  Ended ended = run_program({"preprocess", "invert", given, "-o", given});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("is the image that is read; name another file"));
  EXPECT_EQ(io::read_image(given), before);
}

TEST(Preprocess, NamesTheKindsAndOptionsThatThereAre) {
  Ended unknown = run_program({"preprocess", "cany", golden("input"), "-o", "x.png"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err,
              HasSubstr("none, canny, tile, grayscale, luminance, intensity, invert, threshold"));
  Ended option =
      run_program({"preprocess", "canny", golden("input"), "-o", "x.png", "--set", "lo=20"});
  EXPECT_EQ(option.exit_code, 2);
  EXPECT_THAT(option.err, HasSubstr("canny has no such option; its options: high, low"));
}

TEST(Preprocess, IsAFlagOfRequestsByNameOrAsJson) {
  for (const char* how : {"canny", "{\"type\": \"canny\", \"low\": 20}", "[\"canny\"]"}) {
    Ended ended = run_program({"validate", "--model", "emoji-sd", "-p", "a red apple", "--strict",
                               "--control-preprocess", how});
    // The value itself was taken.
    EXPECT_THAT(ended.err, HasSubstr("has no effect without controlnet")) << how;
  }
}

}  // namespace
}  // namespace omnirt::testing
