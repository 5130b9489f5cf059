// Runs cut in two, each part a process of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.hpp"
#include "cli/program.hpp"
#include "io/file.hpp"

namespace omnirt::testing {
namespace {
using ::testing::HasSubstr;

TEST(SplitRun, CarriedOnByAnotherProcessGivesTheFileOfTheWholeRun) {
  Scratch scratch;
  std::vector<std::string> request{"generate", "-m",       "emoji-sd", "-p",          "a red apple",
                                   "--steps",  "2",        "--seed",   "3",           "--width",
                                   "64",       "--height", "64",       "--scheduler", "unipc"};
  auto with = [&](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words);
  };
  ASSERT_EQ(with(request, {"-o", scratch.file("whole.png")}).exit_code, 0);
  std::string whole = io::read_file(scratch.file("whole.png"), 1 << 24);
  for (const char* after : {"encode_prompt", "prepare_latents", "denoise"}) {
    Ended first = with(request, {"--stop-after", after, "--state", scratch.file("state")});
    ASSERT_EQ(first.exit_code, 0) << first.err;
    EXPECT_EQ(first.out, scratch.file("state") + "\n");
    Ended second = run_program(
        {"generate", "--resume", scratch.file("state"), "-o", scratch.file("parts.png")});
    ASSERT_EQ(second.exit_code, 0) << second.err;
    EXPECT_EQ(io::read_file(scratch.file("parts.png"), 1 << 24), whole) << after;
  }
}

// What a scheduler's name means and a run's own timesteps are in the state, too.
TEST(SplitRun, OfANamedSchedulerAndGivenTimestepsGivesTheFileOfTheWholeRun) {
  Scratch scratch;
  for (const std::vector<std::string>& schedule :
       {std::vector<std::string>{"--scheduler", "dpmpp_2m", "--timesteps", "999,500,20"},
        {"--scheduler", "sa_solver_karras", "--steps", "3"}}) {
    std::vector<std::string> request{"generate",    "-m",       "emoji-sd", "-p",
                                     "a red apple", "--seed",   "3",        "--width",
                                     "64",          "--height", "64"};
    request.insert(request.end(), schedule.begin(), schedule.end());
    std::vector<std::string> whole = request, first = request;
    whole.insert(whole.end(), {"-o", scratch.file("whole.png")});
    first.insert(first.end(),
                 {"--stop-after", "prepare_latents", "--state", scratch.file("state")});
    ASSERT_EQ(run_program(whole).exit_code, 0);
    ASSERT_EQ(run_program(first).exit_code, 0);
    Ended second = run_program(
        {"generate", "--resume", scratch.file("state"), "-o", scratch.file("parts.png")});
    ASSERT_EQ(second.exit_code, 0) << second.err;
    EXPECT_EQ(io::read_file(scratch.file("parts.png"), 1 << 24),
              io::read_file(scratch.file("whole.png"), 1 << 24))
        << schedule[1];
  }
}

TEST(SplitRun, TellsWhatItLoadedAndRefusesAnotherPrompt) {
  Scratch scratch;
  Ended first = run_program({"generate", "-p", "a red apple", "--steps", "2", "--stop-after",
                             "prepare_conditions", "--state", scratch.file("state"), "--json"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  Json report = parse_json(first.out, "stdout");
  EXPECT_EQ(report["components_loaded"], Json({"tokenizer", "text_encoder"}));
  EXPECT_EQ(report["state"], scratch.file("state"));
  Ended other = run_program({"validate", "--resume", scratch.file("state"), "-p", "a pear"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("the state was made with"));
}

}  // namespace
}  // namespace omnirt::testing
