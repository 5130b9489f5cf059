#include "text/prompt_schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace omnirt::text {
namespace {

using ::testing::ElementsAre;

// The texts at each of ten steps, each as often as it is read in a row: "3 a|7 b".
std::string over_ten(const std::string& text) {
  ScheduledText read = schedule_of(text, "prompt", 10);
  std::string made;
  for (int64_t step = 0, count = 0; step < 10; ++step) {
    auto at = [&](int64_t i) {
      return read.by_step.empty() ? 0 : read.by_step[static_cast<size_t>(i)];
    };
    ++count;
    if (step < 9 && at(step) == at(step + 1)) continue;
    made += (made.empty() ? "" : "|") + std::to_string(count) + " " +
            read.texts[static_cast<size_t>(at(step))];
    count = 0;
  }
  return made;
}

// The cases that A1111 holds its own reading against (modules/prompt_parser.py,
// get_learned_conditioning_prompt_schedules).
TEST(PromptSchedule, ReadsWhatA1111ReadsAtEachStep) {
  EXPECT_EQ(over_ten("test"), "10 test");
  EXPECT_EQ(over_ten("a [b:3]"), "3 a |7 a b");
  EXPECT_EQ(over_ten("a [b: 3]"), "3 a |7 a b");
  EXPECT_EQ(over_ten("a [[[b]]:2]"), "2 a |8 a [[b]]");
  EXPECT_EQ(over_ten("[(a:2):3]"), "3 |7 (a:2)");
  EXPECT_EQ(over_ten("a [b : c : 1] d"), "1 a b  d|9 a  c  d");
  EXPECT_EQ(over_ten("a[b:[c:d:2]:1]e"), "1 abe|1 ace|8 ade");
  EXPECT_EQ(over_ten("a [unbalanced"), "10 a [unbalanced");
  EXPECT_EQ(over_ten("a [b:.5] c"), "5 a  c|5 a b c");
  EXPECT_EQ(over_ten("((a][:b:c [d:3]"), "3 ((a][:b:c |7 ((a][:b:c d");
  EXPECT_EQ(over_ten("[a|(b:1.1)]"),
            "1 a|1 (b:1.1)|1 a|1 (b:1.1)|1 a|1 (b:1.1)|1 a|1 (b:1.1)|1 "
            "a|1 (b:1.1)");
  EXPECT_EQ(over_ten("[fe|]male"),
            "1 female|1 male|1 female|1 male|1 female|1 male|1 female|1 "
            "male|1 female|1 male");
}

TEST(PromptSchedule, CountsStepsAndPartsOfThem) {
  EXPECT_EQ(over_ten("[a:b:0]"), "10 b");
  EXPECT_EQ(over_ten("[a:b:1.0]"), "10 a");
  EXPECT_EQ(over_ten("[a:b:25]"), "10 a");
  EXPECT_EQ(over_ten("[a::0.25]"), "2 a|8 ");
  EXPECT_EQ(over_ten("[a:b:.3] [c:d:7]"), "3 a c|4 b c|3 b d");
  EXPECT_EQ(schedule_of("[a:b:0.5]", "prompt", 1).texts, (std::vector<std::string>{"b"}));
}

TEST(PromptSchedule, LeavesOtherBracketsAsTheyAre) {
  for (const char* text : {"[a]", "[a:b]", "[a:b:c:2]", R"(\[a|b\])", "a|b", "[a:b:-1]", "(a|b)",
                           "[a:(b:1.2)]", "[]", "[a:1.2.3]"})
    EXPECT_EQ(over_ten(text), std::string("10 ") + text);
}

TEST(PromptSchedule, TellsTextsApartAndStepsWhereTheyAreRead) {
  ScheduledText read = schedule_of("[a|b|a]", "prompt", 5);
  EXPECT_THAT(read.texts, ElementsAre("a", "b"));
  EXPECT_THAT(read.by_step, ElementsAre(0, 1, 0, 0, 1));
}

TEST(PromptSchedule, BoundsTextsBytesAndBrackets) {
  auto message = [](const std::string& text) -> std::string {
    try {
      schedule_of(text, "inputs.prompt", 1000);
    } catch (const InvalidRequest& thrown) {
      return thrown.findings()[0].field + ": " + thrown.findings()[0].message;
    }
    return "";
  };
  std::string many = "[a";
  for (int i = 0; i < 64; ++i) many += "|" + std::to_string(i);
  EXPECT_EQ(message(many + "]"),
            "inputs.prompt: the prompt is more than 64 different ones over "
            "its steps");
  EXPECT_EQ(message("[a|b]" + std::string(1 << 14, 'c')),
            "inputs.prompt: a prompt that changes with the step may have 16384");
  EXPECT_EQ(message(std::string(65, '[') + std::string(65, ']')),
            "inputs.prompt: more than 64 brackets are open");
  EXPECT_EQ(message(std::string(1 << 14, '[')), "");
}

}  // namespace
}  // namespace omnirt::text
