#include "base/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace omnirt {
namespace {

struct Sample {
  int64_t width = 4;
  std::optional<double> gain;
  std::variant<int64_t, std::vector<int64_t>> heads = int64_t{1};
  static void visit(auto& self, auto& v) {
    v("width", self.width);
    v("gain", self.gain);
    v("heads", self.heads);
    v.only("mode", {"plain"});
    v.ignore({"dropout"});
  }
};

std::string refusal(const char* json) {
  try {
    read_config<Sample>(parse_json(json, "c"), "c");
  } catch (const Unsupported& error) {
    return error.what();
  }
  return "";
}

TEST(ReadConfig, KeepsDefaultsAndReadsWhatIsThere) {
  auto config = read_config<Sample>(
      parse_json(R"({"gain": 2, "heads": [1, 2], "dropout": 0.5, "_note": 1})", "c"), "c");
  EXPECT_EQ(config.width, 4);
  EXPECT_EQ(config.gain, 2.0);
  EXPECT_EQ(std::get<1>(config.heads).size(), 2u);
}

TEST(ReadConfig, RefusesValuesThatAreNotImplementedByNameAndValueAllTogether) {
  std::string text = refusal(R"({"mode": "fancy", "width": "x", "unheard": 3})");
  EXPECT_THAT(text, ::testing::HasSubstr("c.mode = \"fancy\""));
  EXPECT_THAT(text, ::testing::HasSubstr("c.width"));
  EXPECT_THAT(text, ::testing::HasSubstr("c.unheard"));
}

TEST(ReadConfig, TakesNullForAKeyItDoesNotKnow) {
  EXPECT_EQ(refusal(R"({"unheard": null, "mode": null})"), "");
}

TEST(ConfigNames, ListsTheFieldsInOrder) {
  EXPECT_THAT(config_names<Sample>(), ::testing::ElementsAre("width", "gain", "heads"));
}

}  // namespace
}  // namespace omnirt
