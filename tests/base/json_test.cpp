#include "base/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/json_reason.hpp"
#include "base/json_text.hpp"

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

TEST(ParseJson, SaysWhereTheTextIsMalformedInItsOwnWords) {
  EXPECT_EQ(refusal("{\"a\": {\"b\": 1, \"c\": [2, }}"),
            "file.json: not valid JSON at 'a.c': line 1, column 25: unexpected '}'; expected '[', "
            "'{', or a literal; download or copy the file again, or give another");
  EXPECT_EQ(refusal("nothing"),
            "file.json: not valid JSON: line 1, column 2: invalid literal; last read: 'no'; "
            "download or copy the file again, or give another");
}

TEST(ParseJson, NamesTheFieldOfHalfACharacter) {
  for (const char* half : {"\\ud83d", "\\ude00", "\\ud83d\\u0041"}) {
    const std::string text = R"({"inputs": {"image": "x", "prompt": ["a )" + std::string(half);
    try {
      parse_json(text + "\"]}}", "request");
      ADD_FAILURE() << half;
    } catch (const InvalidFile& error) {
      EXPECT_EQ(error.findings()[0].field, "inputs.prompt");
      EXPECT_THAT(error.findings()[0].message, ::testing::HasSubstr("surrogate"));
    }
  }
}

TEST(JsonReason, LeavesOutTheLibrarysNames) {
  EXPECT_EQ(json_reason("[json.exception.type_error.302] type must be string, but is object"),
            "type must be string, but is object");
  EXPECT_EQ(json_reason("anything else"), "anything else");
  EXPECT_EQ(json_reason("[x"), "[x");
}

TEST(ParseJson, RefusesManyObjectsOfManyKeys) {
  std::string object = "{";
  for (int i = 0; i < 4096; ++i) object += (i ? ",\"" : "\"") + std::to_string(i) + "\":1";
  std::string text = "[" + object + "}";
  for (int i = 0; i < 8; ++i) text += "," + object + "}";
  EXPECT_THAT(refusal(text + "]"), ::testing::HasSubstr("too many keys"));
}

TEST(ParseJson, QuotesLittleOfWhatItCouldNotRead) {
  std::string told = refusal("[\"" + std::string(100'000, 'x'));
  EXPECT_THAT(told, ::testing::HasSubstr("not valid JSON"));
  EXPECT_LT(told.size(), 300u);
  EXPECT_THAT(refusal("[\"\xff\x1b\"]"), ::testing::Not(::testing::HasSubstr("\xff")));
}

TEST(ParseScalar, TakesNumbersAndWordsAndLeavesAllElseAsText) {
  EXPECT_EQ(parse_scalar("-1.5e3"), Json(-1500.0));
  EXPECT_EQ(parse_scalar("true"), Json(true));
  EXPECT_EQ(parse_scalar("null"), Json(nullptr));
  for (std::string text : {"", "a cat", "\"x\"", "[1]", "{}", "01", "1 2"})
    EXPECT_EQ(parse_scalar(text), Json(text));
  std::string digits(100'000, '1');
  EXPECT_EQ(parse_scalar(digits), Json(digits));
}

TEST(ParseJsonOrText, RefusesJsonThatBreaksALimitInsteadOfTakingItAsText) {
  EXPECT_EQ(parse_json_or_text("{\"a\": 1}", "x"), Json({{"a", 1}}));
  EXPECT_EQ(parse_json_or_text("a cat", "x"), Json("a cat"));
  EXPECT_THROW(parse_json_or_text(std::string(1000, '['), "x"), InvalidFile);
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
