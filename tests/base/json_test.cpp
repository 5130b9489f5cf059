#include "base/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace omnirt {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_json(text, "file.json");
  } catch (const InvalidFile& error) {
    return error.what();
  }
  return "";
}

TEST(ParseJson, KeepsTheOrderOfKeys) {
  EXPECT_EQ(parse_json(R"({"b": 1, "a": 2})", "x").dump(), R"({"b":1,"a":2})");
}

TEST(ParseJson, RefusesDepthBeyondTheLimitWithoutRecursion) {
  EXPECT_THAT(refusal(std::string(1'000'000, '[')), ::testing::HasSubstr("nested deeper"));
  EXPECT_EQ(refusal(std::string(max_json_depth, '[') + std::string(max_json_depth, ']')), "");
}

TEST(ParseJson, RefusesAKeyThatIsThereTwice) {
  EXPECT_THAT(refusal(R"({"a": 1, "b": {"a": 1}, "a": 2})"), ::testing::HasSubstr("twice"));
}

TEST(ParseJson, RefusesMoreKeysInOneObjectThanCanBeSearched) {
  std::string text = "{";
  for (int i = 0; i < 5000; ++i) text += (i ? ",\"" : "\"") + std::to_string(i) + "\":1";
  EXPECT_THAT(refusal(text + "}"), ::testing::HasSubstr("more than"));
}

TEST(ParseJson, NamesTheFileOfMalformedText) {
  EXPECT_THAT(refusal("{\"a\": }"), ::testing::HasSubstr("file.json"));
  EXPECT_NE(refusal("\xff"), "");
  EXPECT_NE(refusal(""), "");
}

TEST(Finding, ShowsALongValueByItsBeginningAndControlCharactersAsMarks) {
  Finding finding{"field", std::string(500, 'x') + "\n", "is wrong", "mend it"};
  std::string text = finding.text();
  EXPECT_LT(text.size(), 200u);
  EXPECT_THAT(text, ::testing::HasSubstr("field = xxx"));
  EXPECT_THAT((Finding{"f", "a\x1b[2J", "m", ""}.text()),
              ::testing::Not(::testing::HasSubstr("\x1b")));
}

}  // namespace
}  // namespace omnirt
