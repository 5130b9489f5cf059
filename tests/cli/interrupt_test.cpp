// Ctrl-C and SIGTERM: how a process ends, and what it leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "cli/program.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* first_words = "stopping; again to quit now";

// Sends each signal once, when standard error holds the words next to it.
struct Signals {
  std::vector<std::pair<std::string, int>> at;
  size_t sent = 0;
  void operator()(int child, const std::string& err) {
    if (sent == at.size() || err.find(at[sent].first) == std::string::npos) return;
    kill(child, at[sent++].second);
  }
};

Ended run_and_signal(const std::vector<std::string>& words, Signals signals) {
  return run_program_with(words, {.watch = std::ref(signals)});
}

class FirstSignal : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Interrupt, FirstSignal, ::testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST_P(FirstSignal, EndsARunBetweenTwoPiecesOfItsWork) {
  Scratch scratch;
  Ended ended = run_and_signal(
      {"generate", "--prompt", "x", "--steps", "1000", "-o", scratch.file("out.png")},
      {{{"step 2/", GetParam()}}});
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(first_words));
  EXPECT_THAT(scratch.names(), IsEmpty());
}

std::vector<std::string> stuck_run(const Scratch& scratch) {
  return {"generate",
          "--plugin",
          OMNIRT_PLUGINS_BUILT "/libstuck.so",
          "-m",
          "emoji-sd",
          "--prompt",
          "x",
          "--steps",
          "1",
          "--input",
          "stuck_in=" + scratch.path().string(),
          "-o",
          scratch.file("out.png")};
}

TEST(Interrupt, TheFirstSignalEndsARunThatDoesNotLookUpAndLeavesNothingHalfWritten) {
  Scratch scratch;
  Ended ended = run_and_signal(stuck_run(scratch), {{{"inside", SIGTERM}}});
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(first_words));
  EXPECT_THAT(scratch.names(), IsEmpty());
}

TEST(Interrupt, TheSecondSignalEndsItToo) {
  Scratch scratch;
  Ended ended = run_and_signal(stuck_run(scratch), {{{"inside", SIGINT}, {first_words, SIGINT}}});
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_THAT(scratch.names(), IsEmpty());
}

TEST(Interrupt, TheFirstSignalEndsChecksThatDoNotLookUp) {
  for (const char* command : {"generate", "validate"}) {
    Ended ended = run_and_signal({command, "--plugin", OMNIRT_PLUGINS_BUILT "/libstuck.so", "-m",
                                  "emoji-sd", "--prompt", "x", "--input", "stuck_in_check=yes"},
                                 {{{"checking", SIGINT}}});
    EXPECT_EQ(ended.exit_code, 130) << command << ended.err;
  }
}

TEST(Interrupt, AConversionLeavesTheWholeFolderOrNothing) {
  Scratch scratch;
  const std::string one = scratch.file("one.safetensors");
  ASSERT_EQ(
      run_program({"convert", source_path("tests/goldens/pipelines/sd15/model").string(), one})
          .exit_code,
      0);
  // Whatever it is doing when the signal comes.
  for (int round = 0; round < 12; ++round) {
    Scratch into;
    auto send = [&](int child) {
      using std::chrono::microseconds;
      for (int look = 0; look < 100'000 && into.names().empty(); ++look)
        std::this_thread::sleep_for(microseconds(100));
      std::this_thread::sleep_for(microseconds(500 * round));
      kill(child, SIGTERM);
    };
    Ended ended = run_program_with({"convert", one, into.file("folder")}, {.started = send});
    if (ended.exit_code == 0)
      EXPECT_THAT(into.names(), ElementsAre("folder"));
    else
      EXPECT_THAT(into.names(), IsEmpty()) << ended.exit_code << ended.err;
  }
}

}  // namespace
}  // namespace omnirt::testing
