#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "request/request.hpp"

namespace omnirt {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    parse_yaml(text, "r.yaml");
  } catch (const InvalidFile& error) {
    return error.what();
  }
  return "";
}

TEST(Yaml, BecomesTheJsonThatItMeans) {
  EXPECT_EQ(parse_yaml("task: text2image\n"
                       "inputs: {prompt: [a cat, '7', \"null\"]}\n"
                       "config:\n  steps: 7\n  scale: -1.5e1\n  on: true\n  none: ~\n  void:\n"
                       "  words: |\n    two\n    lines\n",
                       "x"),
            parse_json(R"({"task": "text2image", "inputs": {"prompt": ["a cat", "7", "null"]},
                           "config": {"steps": 7, "scale": -15.0, "on": true, "none": null,
                                      "void": null, "words": "two\nlines\n"}})",
                       "x"));
  EXPECT_EQ(parse_yaml("", "x"), Json(nullptr));
  EXPECT_EQ(parse_yaml("word", "x"), Json("word"));
}

TEST(Yaml, RepeatsWhatAnAliasNames) {
  EXPECT_EQ(parse_yaml("a: &x {b: [1, 2]}\nc: *x\nd: &y word\ne: [*y, *y]", "x"),
            parse_json(R"({"a": {"b": [1, 2]}, "c": {"b": [1, 2]}, "d": "word",
                           "e": ["word", "word"]})",
                       "x"));
}

TEST(Yaml, CountsWhatAliasesRepeat) {
  std::string text = "a: &x " + std::string(100'000, 'w') + "\nb:\n";
  for (int i = 0; i < 50; ++i) text += " - *x\n";
  EXPECT_THAT(refusal(text), HasSubstr("what its aliases repeat"));

  std::string laughs = "l0: &l0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 9; ++i) {
    laughs += fmt::format("l{}: &l{} [", i, i);
    for (int k = 0; k < 10; ++k) laughs += fmt::format("{}*l{}", k ? ", " : "", i - 1);
    laughs += "]\n";
  }
  EXPECT_THAT(refusal(laughs), HasSubstr("values"));

  std::string deep = "l0: &l0 [1]\n";
  for (int i = 1; i < 80; ++i) deep += fmt::format("l{}: &l{} [*l{}]\n", i, i, i - 1);
  EXPECT_THAT(refusal(deep), HasSubstr("nested deeper"));
}

TEST(Yaml, RefusesAnAliasOfWhatIsNotYetThere) {
  EXPECT_THAT(refusal("a: &x [1, *x]"), HasSubstr("alias"));
  EXPECT_NE(refusal("a: *x"), "");
  EXPECT_THAT(refusal("a: &x b\n*x : c"), HasSubstr("not a text"));
}

TEST(Yaml, RefusesKeysThatAreTwiceTooManyOrNoTexts) {
  EXPECT_THAT(refusal("a: 1\na: 2"), HasSubstr("'a' is there twice"));
  EXPECT_THAT(refusal("{[1]: 2}"), HasSubstr("not a text"));
  EXPECT_THAT(refusal("{{a: 1}: 2}"), HasSubstr("not a text"));
  std::string many;
  for (int i = 0; i < 5000; ++i) many += fmt::format("k{}: 1\n", i);
  EXPECT_THAT(refusal(many), HasSubstr("more than 4096 keys"));
}

TEST(Yaml, RefusesTextThatIsNotUtf8) {
  EXPECT_THAT(refusal("a: \"\xff\""), HasSubstr("not UTF-8 at byte 4"));
}

TEST(Yaml, RefusesDepthManyValuesAndLargeFiles) {
  EXPECT_THAT(refusal(std::string(100, '[') + std::string(100, ']')), HasSubstr("nested deeper"));
  EXPECT_NE(refusal(std::string(100'000, '[')), "");
  std::string many = "[1";
  for (int i = 0; i < 100'000; ++i) many += ",1";
  EXPECT_THAT(refusal(many + "]"), HasSubstr("more than 100000 values"));
  EXPECT_THAT(refusal("a: " + std::string(1 << 20, 'x')), HasSubstr("limit of 1048576 bytes"));
}

// A number of any length is text, and costs no conversion.
TEST(Yaml, TakesALongRowOfDigitsAsText) {
  std::string digits(500'000, '1');
  EXPECT_EQ(parse_yaml("a: " + digits, "x")["a"], Json(digits));
}

TEST(Yaml, NamesTheLineAndAdvisesQuotes) {
  EXPECT_EQ(refusal("inputs:\n  prompt: a cat: red\n"),
            "r.yaml, line 2 = prompt: a cat: red: not valid YAML at column 16: illegal map "
            "value; put a text in quotes that holds ': ' or begins with one of [ ] { } & * ! | > ' "
            "\" % @ `, as in prompt: \"a cat: red\"");
  for (const char* prompt : {"[a|b] cat", "*cat*", "\"red\" cat", "@cat", "{cat", "%cat"})
    EXPECT_THAT(refusal(fmt::format("prompt: {}\n", prompt)), HasSubstr("put a text in quotes"))
        << prompt;
  EXPECT_THAT(refusal("inputs:\n\tprompt: a cat\n"), HasSubstr("indent with spaces, not tabs"));
}

}  // namespace
}  // namespace omnirt
