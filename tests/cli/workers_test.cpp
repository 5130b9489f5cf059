// Servers, workers and their Redis as processes: what their flags refuse, and that they may be
// killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "cli/program.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Worker, WhatCannotBeIsRefusedByName) {
  const Ended none = run_program({"worker", "-m", "emoji"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("--redis"));
  const Ended tls = run_program({"worker", "--redis", "rediss://ann:secret@host"});
  EXPECT_EQ(tls.exit_code, 2);
  EXPECT_THAT(tls.err, HasSubstr("TLS"));
  EXPECT_THAT(tls.err, Not(HasSubstr("secret")));
  EXPECT_EQ(run_program({"worker", "--redis", "redis://host", "--stages", "all"}).exit_code, 2);
  EXPECT_EQ(run_program({"worker", "--redis", "redis://host", "--max-result", "much"}).exit_code,
            2);
  EXPECT_EQ(run_program({"serve", "--redis-password-file", "/nothing"}).exit_code, 2);
  for (const char* flag : {"--parallel", "--in-flight", "--threads"}) {
    const Ended ended = run_program({"serve", "--redis", "redis://host", flag, "2"});
    EXPECT_EQ(ended.exit_code, 2);
    EXPECT_THAT(ended.err, HasSubstr(flag));
  }
  const Ended shared = run_program({"serve", "--redis", "redis://host", "--share-steps", "on"});
  EXPECT_EQ(shared.exit_code, 2);
  EXPECT_THAT(shared.err, HasSubstr("--share-steps"));
}

TEST(Serve, RefusesToShareStepsWhereRunsTakeNoTurns) {
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"--parallel", "2"},
                                                {"--in-flight", "2"},
                                                {"--memory-budget", "2GB"}}) {
    std::vector<std::string> command{"serve", "--share-steps", "on"};
    command.insert(command.end(), flags.begin(), flags.end());
    const Ended ended = run_program(command);
    EXPECT_EQ(ended.exit_code, 2);
    EXPECT_THAT(ended.err, HasSubstr("--share-steps"));
  }
}

// More of the same: tools/api/kills.py --kills 200.
TEST(Worker, NothingIsLostWhereServersWorkersAndRedisAreKilled) {
  if (::access("/usr/bin/redis-server", X_OK) != 0)
    GTEST_SKIP() << "redis-server is not installed (scripts/setup does it)";
  const std::string command = "python3 " + source_path("tools/api/kills.py").string() +
                              " " OMNIRT_PROGRAM " --kills 5 --seed 3 2>&1";
  std::string said;
  FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_TRUE(pipe);
  for (int each; (each = std::fgetc(pipe)) != EOF;) said += static_cast<char>(each);
  EXPECT_EQ(::pclose(pipe), 0) << said;
  EXPECT_THAT(said, HasSubstr("5 kills"));
}

}  // namespace
}  // namespace omnirt::testing
