// Standard output and error that are closed, full, or pipes without a reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/program.hpp"
#include "io/image.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string emoji = source_path("models/emoji").string();

struct Lost {
  const char* place;
  const char* reason;  // in the message; none where the reader has left, as nobody waits for it
};
constexpr Lost losses[] = {{closed_stream, "Bad file descriptor"},
                           {"/dev/full", "No space left on device"},
                           {broken_pipe, ""}};

TEST(Streams, ResultsThatCannotBePrintedAreAFailure) {
  const std::vector<std::vector<std::string>> commands{{"--version"},
                                                       {"generate", "--help"},
                                                       {"man"},
                                                       {"completions", "bash"},
                                                       {"inspect", emoji},
                                                       {"backends", "--json"},
                                                       {"models", "emoji", "--graph", "dot"},
                                                       {"validate", "-p", "a red apple", "--json"}};
  for (const auto& command : commands) {
    for (const Lost& lost : losses) {
      const Ended ended = run_program_with(command, {.out_file = lost.place});
      EXPECT_EQ(ended.exit_code, 3) << command.front() << ", " << lost.place;
      if (*lost.reason)
        EXPECT_THAT(ended.err, HasSubstr(lost.reason)) << command.front();
      else
        EXPECT_THAT(ended.err, IsEmpty()) << command.front();
    }
  }
}

TEST(Streams, AnImageIsWrittenWhicheverStreamIsLost) {
  const Scratch scratch;
  const std::string file = scratch.file("x.png");
  const std::vector<std::string> command{"generate", "-p", "x", "--steps", "1", "-o", file};
  for (const Lost& lost : losses) {
    EXPECT_EQ(run_program_with(command, {.err_file = lost.place}).exit_code, 0) << lost.place;
    EXPECT_EQ(io::probe_image(file).width, 128);
    std::filesystem::remove(file);
    EXPECT_EQ(run_program_with(command, {.out_file = lost.place}).exit_code, 3) << lost.place;
    EXPECT_EQ(io::probe_image(file).width, 128);
    std::filesystem::remove(file);
  }
  // Both closed: the image's file must not take the number of a stream, and be printed into.
  const RunWith closed{.out_file = closed_stream, .err_file = closed_stream};
  EXPECT_EQ(run_program_with(command, closed).exit_code, 3);
  EXPECT_EQ(io::probe_image(file).width, 128);
}

TEST(Streams, WithoutStandardErrorTheExitCodeIsTheSame) {
  struct Case {
    std::vector<std::string> command;
    int exit_code;
  };
  const Case cases[] = {{{"--version"}, 0},
                        {{"--no-such-flag"}, 2},
                        {{"generate", "--no-such-flag"}, 2},
                        {{"generate", "-p", "x", "--steps", "0"}, 2},
                        {{"inspect", "/nowhere"}, 2},
                        {{"validate", "-p", "a (red:1.3) horse"}, 0},
                        {{"pull", "../x"}, 2}};
  for (const Case& each : cases) {
    for (const Lost& lost : losses) {
      const Ended ended = run_program_with(each.command, {.err_file = lost.place});
      EXPECT_EQ(ended.exit_code, each.exit_code) << each.command.front() << ", " << lost.place;
    }
  }
}

}  // namespace
}  // namespace omnirt::testing
