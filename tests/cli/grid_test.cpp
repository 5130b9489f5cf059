#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.hpp"
#include "io/image.hpp"

namespace omnirt::testing {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

Words grid_of(const Scratch& scratch, const Words& more) {
  Words words{"grid", "-q",      "--prompt", "a red apple", "--seed",
              "3",    "--steps", "2",        "-o",          scratch.file("grid.png")};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Grid, HoldsTheImageOfEachPairOfValues) {
  Scratch scratch;
  const Ended ended = run_program(
      grid_of(scratch, {"--x", "steps=1,2", "--y", "seed=3,4", "--z",
                        "prompt=[\"a red apple\",\"a dog\"]", "--cells", scratch.file("cells")}));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, scratch.file("grid.png") + "\n");
  const Ended alone = run_program({"generate", "-q", "--prompt", "a dog", "--seed", "3", "--steps",
                                   "2", "-o", scratch.file("alone.png")});
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  // x fastest, then y, then z.
  EXPECT_EQ(io::read_image(scratch.file("cells/5.png")), io::read_image(scratch.file("alone.png")));
  const io::Image sheet = io::read_image(scratch.file("grid.png"));
  EXPECT_EQ(sheet.width, 8 + (128 + 8) + 2 * (128 + 8));
  EXPECT_GT(sheet.height, 4 * 128 + 4 * 8);
}

TEST(Grid, LeavesNothingButItsFile) {
  Scratch scratch;
  const Ended ended = run_program(grid_of(scratch, {"--x", "steps=1,2"}));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(scratch.names(), ElementsAre("grid.png"));
}

TEST(Grid, RefusesBeforeTheFirstRunAndLeavesNothing) {
  Scratch scratch;
  struct Case {
    Words words;
    const char* said;
  };
  for (const Case& each :
       {Case{{"--x", "steps=1,2000"}, "num_inference_steps"},
        Case{{"--x", "step=1,2"}, "did you mean"}, Case{{"--x", "steps"}, "name=value"},
        Case{{"--x", "steps=1", "--y", "width=8192,16"}, "width"},
        Case{{"--x", "prompt=[\"a"}, "--x"}, Case{{}, "--x steps=5,10,20"}}) {
    const Ended ended = run_program(grid_of(scratch, each.words));
    EXPECT_EQ(ended.exit_code, 2) << each.said;
    EXPECT_THAT(ended.err, HasSubstr(each.said));
    EXPECT_THAT(scratch.names(), ElementsAre()) << each.said;
  }
}

}  // namespace
}  // namespace omnirt::testing
