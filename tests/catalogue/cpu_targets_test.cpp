// Whole runs by the kernels of every target that this machine has, each in a process of its own:
// the target is chosen once a process.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "backends/cpu/simd/target.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;

// An image from words, from an image, of few steps and of a second order, of sizes that fill no
// vector; and what the levels promise, rounding to int8 included.
constexpr const char* golden_runs[] = {"emoji_sd_one_step",
                                       "emoji_sd_img2img_batch",
                                       "emoji_sd_sched_eulerdiscrete",
                                       "emoji_sd_one_step_heundiscrete",
                                       "emoji_sd_odd_latents",
                                       "emoji_text2image"};
constexpr const char* promises[] = {
    "TheTimelineNamesTheTargetThatServes", "GiveTheSameImageButForTheOrderOfAdditions",
    "HighPrecisionIsTheHighestOnesImage", "MediumPrecisionIsNearTheHighestOnesImage",
    "Int8RoundsTheWeightsAndSaysSo"};

std::string filter() {
  std::string names;
  for (const char* run : golden_runs)
    names += fmt::format("AllGoldens/GoldenPipeline.*ByTheKernels/{}:", run);
  for (const char* promise : promises) names += fmt::format("CpuLevels.{}:", promise);
  return names;
}

struct Ended {
  int status = -1;
  std::string output;
};

Ended run_tests_on(const std::string& target) {
  std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  // All of the named tests, though this process may have a share of its program's tests alone.
  std::string command = fmt::format(
      "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX OMNIRT_CPU_TARGET={} '{}' "
      "--gtest_filter='{}' 2>&1",
      target, program, filter());
  Ended ended;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return ended;
  char buffer[4096];
  while (size_t got = fread(buffer, 1, sizeof buffer, pipe)) ended.output.append(buffer, got);
  ended.status = pclose(pipe);
  return ended;
}

class CpuTargets : public ::testing::TestWithParam<std::string> {};

TEST_P(CpuTargets, GiveTheReferencesImages) {
  Ended ended = run_tests_on(GetParam());
  EXPECT_EQ(ended.status, 0) << ended.output;
  size_t expected = std::size(golden_runs) + std::size(promises);
  EXPECT_THAT(ended.output, HasSubstr(fmt::format("[  PASSED  ] {} tests.", expected)));
}

INSTANTIATE_TEST_SUITE_P(OfThisMachine, CpuTargets, ::testing::ValuesIn(cpu::targets().available),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace omnirt::testing
