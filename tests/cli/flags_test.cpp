#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.hpp"
#include "cli/program.hpp"

namespace omnirt::testing {
namespace {

Json value_of(const std::vector<std::string>& flags, const std::string& key) {
  std::vector<std::string> words{
      "validate", "--prompt", "a",
      "--json",   "--model",  OMNIRT_SOURCE_DIR "/tests/goldens/pipelines/pixart_sigma/model"};
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

}  // namespace
}  // namespace omnirt::testing
