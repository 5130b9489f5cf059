// What the program says of itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "cli/program.hpp"

namespace omnirt::testing {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

std::vector<std::string> lines_of(const std::vector<std::string>& words) {
  Ended ended = run_program(words);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  std::istringstream text(ended.out);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST(Help, FitsTwoScreensWithTypesRangesAndDefaults) {
  std::vector<std::string> lines = lines_of({"generate", "--help"});
  EXPECT_LE(lines.size(), 90u);
  for (const std::string& line : lines) EXPECT_LE(line.size(), 100u) << line;
  std::string out = run_program({"generate", "--help"}).out;
  EXPECT_THAT(out, HasSubstr("  --steps INT 1..1000               denoising steps [8 with emoji]"));
  EXPECT_THAT(out, HasSubstr("--cache none|deep"));
  EXPECT_THAT(out, Not(HasSubstr("TEXT ...")));
  EXPECT_THAT(out, Not(HasSubstr("--cfg")));
  EXPECT_THAT(out, Not(HasSubstr("--aesthetic-score")));
}

TEST(Help, ShowsEveryFlagWhenAsked) {
  std::string out = run_program({"generate", "--help-all"}).out;
  EXPECT_THAT(out, AllOf(HasSubstr("--aesthetic-score"), HasSubstr("--preview-decoder"),
                         HasSubstr("--num-frames")));
}

TEST(Help, ShowsWhatANamedModelTakesWithItsDefaults) {
  std::string sd = run_program({"generate", "-m", "emoji-sd", "--help"}).out;
  EXPECT_THAT(sd, AllOf(HasSubstr("--strength"), HasSubstr("denoising steps [20]"),
                        Not(HasSubstr("--num-frames"))));
  std::string video = run_program({"generate", "--help", "--model", "svd"}).out;
  EXPECT_THAT(video, AllOf(HasSubstr("--num-frames"), HasSubstr("--motion-bucket-id"),
                           Not(HasSubstr("--prompt")), Not(HasSubstr("--mask"))));
  Ended unknown = run_program({"generate", "--help", "-m", "sd16"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("sd16"));
}

TEST(Help, OfTheProgramListsItsCommands) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--help"}, {"help"}})
    EXPECT_THAT(run_program(words).out,
                HasSubstr("  generate                          make images"));
  EXPECT_EQ(run_program({"help", "convert"}).out, run_program({"convert", "--help"}).out);
}

TEST(Help, TellsTheVersions) {
  EXPECT_THAT(run_program({"--version"}).out,
              MatchesRegex("omnirt [0-9.]+( \\([0-9a-f]+\\))?, libtorch [0-9.]+\n"));
}

TEST(Documents, CompletionsKnowValues) {
  std::string bash = run_program({"completions", "bash"}).out;
  EXPECT_THAT(bash, HasSubstr("--quantize) words='auto none int8' ;;"));
  EXPECT_THAT(bash, HasSubstr("EulerDiscreteScheduler"));
  EXPECT_THAT(bash, HasSubstr("models) words='--help emoji"));
  std::string fish = run_program({"completions", "fish"}).out;
  EXPECT_THAT(fish, HasSubstr("-l quantize -x -a 'auto none int8' -d"));
  EXPECT_THAT(fish, HasSubstr("-l output -s o -r -d"));
}

TEST(Documents, TheManualPageHasEachFlagOfRequestsOnce) {
  std::string page = run_program({"man"}).out;
  for (const char* section : {".SH DESCRIPTION", ".SH REQUESTS", ".SH EXAMPLES", ".SH ENVIRONMENT"})
    EXPECT_THAT(page, HasSubstr(section));
  const std::string flag = ".B \\-\\-strength ";
  EXPECT_NE(page.find(flag), page.npos);
  EXPECT_EQ(page.find(flag), page.rfind(flag));
}

}  // namespace
}  // namespace omnirt::testing
