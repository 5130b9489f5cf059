#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.hpp"
#include "cli/program.hpp"

namespace omnirt::testing {
namespace {
using ::testing::HasSubstr;

TEST(Bench, TimesARequestOverSeveralRunsAndWritesTheResult) {
  Scratch scratch;
  Ended ended =
      run_program({"bench", "--prompt", "a red apple", "--steps", "1", "--total", "3",
                   "--concurrency", "2", "--warmup", "1", "--result", scratch.file("result.json")});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("images per second"));
  Ended again =
      run_program({"bench", "--prompt", "a red apple", "--steps", "1", "--total", "2", "--json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  Json result = parse_json(again.out, "stdout");
  EXPECT_EQ(result["total"], 2);
  EXPECT_EQ(result["concurrency"], 1);
  EXPECT_EQ(result["model"], "emoji");
  for (const char* field : {"min", "median", "p95", "max"}) {
    EXPECT_GT(result["total_ms"][field].get<double>(), 0) << field;
    EXPECT_GT(result["stages"]["denoise_loop_ms"][field].get<double>(), 0) << field;
  }
  EXPECT_TRUE(result["levels"].contains("transformer"));
  EXPECT_EQ(scratch.names(), std::vector<std::string>{"result.json"});
}

TEST(Bench, TakesAScenarioThatFlagsStandOver) {
  Scratch scratch;
  std::string file = scratch.write("scenario.yaml",
                                   "request:\n  inputs:\n    prompt: a castle\n  config:\n"
                                   "    num_inference_steps: 2\ntotal: 2\nwarmup: 0\n");
  Ended ended = run_program({"bench", "--scenario", file, "--steps", "1", "--json"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  Json result = parse_json(ended.out, "stdout");
  EXPECT_EQ(result["total"], 2);
  EXPECT_EQ(result["config"]["num_inference_steps"]["value"], 1);
  EXPECT_FALSE(result.contains("cold_total_ms"));
}

TEST(Bench, RefusesCountsAndScenariosThatCannotBe) {
  Scratch scratch;
  auto expect_refused = [](const std::vector<std::string>& words, const std::string& told) {
    Ended ended = run_program(words);
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(told));
  };
  expect_refused({"bench", "--prompt", "x", "--total", "0"}, "total");
  expect_refused({"bench", "--prompt", "x", "--concurrency", "1000000"}, "concurrency");
  expect_refused({"bench", "--scenario", scratch.write("a.json", "{\"totals\": 3}")}, "totals");
  expect_refused({"bench", "--scenario", scratch.write("b.json", "[1]")}, "object");
  expect_refused({"bench", "--scenario", scratch.write("c.json", "{\"total\": \"many\"}")},
                 "whole number");
  expect_refused({"bench", "--scenario", scratch.file("none.yaml")}, "none.yaml");
  expect_refused({"bench", "--steps", "2"}, "prompt");
}

TEST(Bench, RefusesALoadThatCannotBe) {
  Scratch scratch;
  auto expect_refused = [](const std::vector<std::string>& more, const std::string& told) {
    std::vector<std::string> words{"bench", "--prompt", "x"};
    words.insert(words.end(), more.begin(), more.end());
    Ended ended = run_program(words);
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(told));
  };
  const std::string none = "http://127.0.0.1:1";
  expect_refused({"--mix", "1:1"}, "--mix");
  expect_refused({"--load", "1"}, "needs --serve");
  expect_refused({"--serve", none, "--concurrency", "2"}, "--concurrency");
  expect_refused({"--serve", none, "--load", "1", "--rate", "1"}, "--rate");
  expect_refused({"--serve", none, "--trace", "x", "--mix", "1:1"}, "--trace");
  expect_refused({"--serve", none, "--mix", "much"}, "SHARE:STEPS");
  expect_refused({"--serve", "https://example.org"}, "http://HOST:PORT");
  expect_refused({"--serve", none, "--trace", scratch.write("t", "[]")}, "t:1");
  expect_refused({"--serve", none, "--key-file", scratch.write("k", "a b")}, "holds no key");
  const Ended ended = run_program({"bench", "--prompt", "x", "--serve", none});
  EXPECT_EQ(ended.exit_code, 3) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("alone"));
}

}  // namespace
}  // namespace omnirt::testing
