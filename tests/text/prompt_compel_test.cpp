#include "text/prompt_compel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "text/support.hpp"

namespace omnirt::text {
namespace {

// The only finding: its value and message.
std::pair<std::string, std::string> compel_refusal(const std::string& text) {
  try {
    parse_compel(text, "inputs.prompt");
  } catch (const InvalidRequest& thrown) {
    EXPECT_EQ(thrown.findings().size(), 1u);
    EXPECT_EQ(thrown.findings()[0].field, "inputs.prompt");
    return {thrown.findings()[0].value, thrown.findings()[0].message};
  }
  return {};
}

CompelPrompt expected_of(const Json& golden) {
  CompelPrompt made;
  made.weights = golden["weights"].get<std::vector<double>>();
  for (const Json& part : golden["parts"]) {
    CompelBlend blend;
    for (const Json& prompt : part["prompts"]) {
      WeightedSection section;
      for (const Json& each : prompt) section.push_back({each[0], each[1]});
      blend.prompts.push_back(section);
    }
    blend.weights = part["weights"].get<std::vector<double>>();
    blend.normalize = part["normalize"];
    made.parts.push_back(blend);
  }
  return made;
}

TEST(PromptCompel, HasTheReferencesPartsAndWeights) {
  Json goldens = io::read_json(source_path("tests/goldens/prompts/compel.json"));
  ASSERT_GT(goldens.size(), 30u);
  for (const Json& each : goldens) {
    CompelPrompt read = parse_compel(each["text"].get<std::string>(), "prompt"),
                 expected = expected_of(each);
    ASSERT_EQ(read.parts.size(), expected.parts.size()) << each["text"];
    for (size_t i = 0; i < read.parts.size(); ++i) {
      EXPECT_EQ(read.parts[i].weights, expected.parts[i].weights) << each["text"];
      EXPECT_EQ(read.parts[i].normalize, expected.parts[i].normalize) << each["text"];
      ASSERT_EQ(read.parts[i].prompts.size(), expected.parts[i].prompts.size()) << each["text"];
      for (size_t j = 0; j < read.parts[i].prompts.size(); ++j) {
        const WeightedSection &made = read.parts[i].prompts[j],
                              &wanted = expected.parts[i].prompts[j];
        ASSERT_EQ(made.size(), wanted.size()) << each["text"];
        for (size_t k = 0; k < made.size(); ++k) {
          EXPECT_EQ(made[k].text, wanted[k].text) << each["text"];
          // Powers of 1.1 and 0.9 by another library's pow.
          EXPECT_DOUBLE_EQ(made[k].weight, wanted[k].weight) << each["text"];
        }
      }
    }
    EXPECT_EQ(read.weights, expected.weights) << each["text"];
  }
}

TEST(PromptCompel, RefusesByNameWhatIsNotDone) {
  using Refusal = std::pair<std::string, std::string>;
  EXPECT_EQ(compel_refusal("a cat.swap(dog) on a mat"),
            Refusal("cat.swap(dog)", ".swap() is not supported by prompt_syntax compel"));
  EXPECT_EQ(compel_refusal("a cat withLora(style, 0.5)"),
            Refusal("style", "withLora() is not supported by prompt_syntax compel"));
  EXPECT_EQ(compel_refusal("(\"a\", \"b\").blend(1)"),
            Refusal("1 weights", ".blend() has 2 prompts"));
  EXPECT_EQ(compel_refusal("(\"a\", \"b\").and(1, loud)"), Refusal("loud", ".and() takes weights"));
  EXPECT_EQ(compel_refusal("(\"a\", \"b\").and() and more"),
            Refusal("and more", "nothing may stand behind .and()"));
  EXPECT_EQ(compel_refusal("(\"a\", \"b\").blend(1, -1)"),
            Refusal("0", "the weights of .blend() add up to nothing"));
  EXPECT_EQ(compel_refusal("(a, ()).and()"), Refusal("()", "an empty prompt in .and()"));
  EXPECT_EQ(compel_refusal("(a, \"\").and()").second, "");
  EXPECT_EQ(compel_refusal("(a)2000"), Refusal("2000", "a weight beyond 1000"));
}

TEST(PromptCompel, BoundsBracketsPartsAndPrompts) {
  EXPECT_EQ(compel_refusal(std::string(66, '(')).second, "more than 64 brackets are open");
  EXPECT_EQ(compel_refusal(std::string(64, '(') + "a" + std::string(64, ')')).second, "");
  std::string many = "(a";
  for (int i = 0; i < 64; ++i) many += ", a";
  EXPECT_EQ(compel_refusal(many + ").and()").second, ".and() takes at most 64");
  std::string parts;
  for (int i = 0; i < 2049; ++i) parts += "(a)2 b ";
  EXPECT_EQ(compel_refusal(parts).second, "more than 4096 parts of other weights");
}

TEST(PromptCompel, FindsOperatorsInPlainPrompts) {
  EXPECT_EQ(compel_operator_in("(\"a\", \"b\").blend(1, 2)"), ").blend(");
  EXPECT_EQ(compel_operator_in("a (red)++ apple"), ")++");
  EXPECT_EQ(compel_operator_in("C++ and a (red) apple"), "");
}

}  // namespace
}  // namespace omnirt::text
