#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.hpp"
#include "cli/program.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {

Json value_of(const std::vector<std::string>& flags, const std::string& key) {
  std::vector<std::string> words{
      "validate", "--prompt", "a",
      "--json",   "--model",  source_path("tests/goldens/pipelines/pixart_sigma/model").string()};
  words.insert(words.end(), flags.begin(), flags.end());
  Ended ended = run_program(words);
  EXPECT_NE(ended.out, "") << ended.err;
  return parse_json(ended.out, "stdout")["config"][key];
}

TEST(Flags, TurnOffWhatIsOnByDefault) {
  const char* key = "use_resolution_binning";
  EXPECT_EQ(value_of({}, key)["value"], true);
  EXPECT_EQ(value_of({"--no-resolution-binning"}, key)["value"], false);
  EXPECT_EQ(value_of({"--resolution-binning=false"}, key)["value"], false);
  EXPECT_EQ(value_of({"--resolution-binning"}, key)["origin"], "user");
}

TEST(Flags, SetSingleSettingsOfTheSchedulerOverTheJson) {
  Json config = value_of({"--scheduler", "dpmpp_2m_karras", "--scheduler-config",
                          R"({"solver_order": 3, "solver_type": "heun"})", "--scheduler-set",
                          "solver_order=1", "--scheduler-set", "use_karras_sigmas=false"},
                         "scheduler_config");
  EXPECT_EQ(config["origin"], "user");
  EXPECT_EQ(config["value"], (Json{{"algorithm_type", "dpmsolver++"},
                                   {"solver_order", 1},
                                   {"use_karras_sigmas", false},
                                   {"solver_type", "heun"}}));
}

TEST(Flags, GiveTheTimestepsOfARunAndSoItsNumberOfSteps) {
  const std::vector<std::string> flags{"--scheduler", "dpmpp_2m", "--timesteps", "999,500,20"};
  EXPECT_EQ(value_of(flags, "timesteps")["value"], Json::parse("[999, 500, 20]"));
  EXPECT_EQ(value_of(flags, "num_inference_steps"), (Json{{"value", 3}, {"origin", "derived"}}));
}

TEST(Flags, OfSchedulerConfigSayWhichFlagTakesASetting) {
  Ended ended =
      run_program({"validate", "--prompt", "a", "--scheduler-config", "use_karras_sigmas=true",
                   "--model", source_path("tests/goldens/pipelines/pixart_sigma/model").string()});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(ended.err,
            "error: --scheduler-config = use_karras_sigmas=true: a JSON object is expected; use "
            "--scheduler-set use_karras_sigmas=true, or --scheduler-config "
            "'{\"use_karras_sigmas\": ...}'\n");
}

}  // namespace
}  // namespace omnirt::testing
