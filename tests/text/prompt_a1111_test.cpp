#include "text/prompt_a1111.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "text/support.hpp"

namespace omnirt::text {

void PrintTo(const WeightedText& part, std::ostream* out) {
  *out << "{\"" << part.text << "\", " << part.weight << "}";
}

namespace {

using ::testing::ElementsAre;

// The only finding: its value and message.
std::pair<std::string, std::string> refusal(const std::string& text) {
  try {
    parse_a1111(text, "inputs.prompt");
    take_adapter_tags(text, "inputs.prompt");
  } catch (const InvalidRequest& thrown) {
    EXPECT_EQ(thrown.findings().size(), 1u);
    EXPECT_EQ(thrown.findings()[0].field, "inputs.prompt");
    return {thrown.findings()[0].value, thrown.findings()[0].message};
  }
  return {};
}

TEST(PromptA1111, HasTheReferencesPartsAndWeights) {
  for (const Json& each : io::read_json(source_path("tests/goldens/prompts/a1111.json"))) {
    WeightedSection expected;
    for (const Json& part : each["parsed"]) expected.push_back({part[0], part[1]});
    EXPECT_THAT(parse_a1111(each["text"].get<std::string>(), "prompt"), ElementsAre(expected))
        << each["text"];
  }
}

TEST(PromptA1111, ReadsWeightsWithWhiteSpaceAsTheWebuiDoes) {
  for (const char* text : {"(a: 1.3)", "(a:1.3 )", "(a:\t1.3\n)", "(a:\xC2\xA0 1.3\xE3\x80\x80)"})
    EXPECT_THAT(parse_a1111(text, "prompt"), ElementsAre(WeightedSection{{"a", 1.3}})) << text;
  EXPECT_THAT(parse_a1111("(a : 1.3)", "prompt"), ElementsAre(WeightedSection{{"a ", 1.3}}));
  EXPECT_THAT(parse_a1111("a: 1.3 ) b", "prompt"), ElementsAre(WeightedSection{{"a: 1.3 ) b", 1}}));
  EXPECT_THAT(parse_a1111("(a: 1 . 3)", "prompt"), ElementsAre(WeightedSection{{"a: 1 . 3", 1.1}}));
  EXPECT_EQ(refusal("(a:\xEF\xBC\x91.\xEF\xBC\x93)").second, "a weight that is no number");
}

TEST(PromptA1111, BeginsASectionAtBreakAsAWordOfItsOwn) {
  EXPECT_THAT(parse_a1111("a BREAK (b BREAK c:1.5) BREAKS", "prompt"),
              ElementsAre(WeightedSection{{"a ", 1}}, WeightedSection{{" ", 1}, {"b ", 1.5}},
                          WeightedSection{{" c", 1.5}, {" BREAKS", 1}}));
  EXPECT_THAT(parse_a1111("BREAK", "prompt"),
              ElementsAre(WeightedSection{{"", 1}}, WeightedSection{{"", 1}}));
}

TEST(PromptA1111, RefusesComposedPromptsByName) {
  using Refusal = std::pair<std::string, std::string>;
  EXPECT_EQ(
      refusal("a cat AND a dog"),
      Refusal("AND a dog", "composed prompts (AND) are not supported by prompt_syntax a1111"));
  EXPECT_EQ(refusal("a|b, BRAND, [a (b:1.2)], [a \\| b]"), Refusal());
}

TEST(PromptA1111, RefusesWhatIsBeyondItsBounds) {
  using Refusal = std::pair<std::string, std::string>;
  EXPECT_EQ(refusal("(a:1.2.3)"), Refusal("1.2.3", "a weight that is no number"));
  EXPECT_EQ(refusal("(a:1001)"), Refusal("1001", "a weight beyond 1000"));
  EXPECT_EQ(refusal(std::string(64, '(')), Refusal());
  EXPECT_EQ(refusal(std::string(65, '[')), Refusal("[", "more than 64 brackets are open"));
  std::string parts;
  for (int i = 0; i < 4097; ++i) parts += "a:";
  EXPECT_EQ(refusal(parts).second, "more than 4096 parts and brackets");
  EXPECT_EQ(refusal("(a\xFF:1.2)"), Refusal("0xFF", "not UTF-8 at byte 2"));
}

TEST(PromptA1111, TakesAdaptersOutOfThePrompt) {
  TaggedPrompt read = take_adapter_tags("a <lora:style:0.8>cat<lyco: x >, <3 <lora:", "prompt");
  EXPECT_EQ(read.text, "a cat, <3 <lora:");
  EXPECT_THAT(read.adapters, ElementsAre(AdapterTag{"style", 0.8}, AdapterTag{"x", 1}));
}

TEST(PromptA1111, RefusesTagsThatNameNoAdapterOfOneScale) {
  using Refusal = std::pair<std::string, std::string>;
  EXPECT_EQ(refusal("<lora::1>"), Refusal("<lora::1>", "a tag that names no adapter"));
  EXPECT_EQ(refusal("<lora:a:x>"), Refusal("<lora:a:x>", "a scale that is no number"));
  EXPECT_EQ(refusal("<lora:a:1:2>"), Refusal("<lora:a:1:2>", "a tag with more than one scale"));
  EXPECT_EQ(refusal("<hypernet:a:1>"),
            Refusal("<hypernet:a:1>", "hypernetworks are not supported"));
  std::string many;
  for (int i = 0; i < 65; ++i) many += "<lora:a>";
  EXPECT_EQ(refusal(many), Refusal("", "more than 64 adapters"));
}

TEST(PromptA1111, FindsWhatAPlainPromptWouldReadAsWords) {
  EXPECT_EQ(a1111_weight_in("a (red (apple:1.2))"), "(apple:1.2)");
  EXPECT_EQ(a1111_weight_in("at (10:30) or (a:b), (c) :1)"), "(10:30)");
  EXPECT_EQ(a1111_weight_in("a (red : 1.2 ) apple"), "(red : 1.2 )");
  EXPECT_EQ(a1111_weight_in("a (red) apple: 1.2)"), "");
  EXPECT_EQ(adapter_tag_in("a <lora:b:1> c"), "<lora:b:1>");
  EXPECT_EQ(adapter_tag_in("a <b:1> c"), "");
}

}  // namespace
}  // namespace omnirt::text
