#include "pipeline/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/frame.hpp"

namespace omnirt {
namespace {

using Texts = std::vector<std::string>;

class Producer final : public Block {
 public:
  Input<Texts> prompt{this, "prompt", "words"};
  Output<int> number{this, "number", "a number"};
  Producer() : Block("maker", Stage::prepare_conditions, Guidance::per_condition) {}
  void run(Frame& frame) const override { frame[number] = static_cast<int>(frame[prompt].size()); }
};

class Consumer final : public Block {
 public:
  Input<int> number{this, "number", "a number"};
  Output<int> twice{this, "twice", "its double"};
  explicit Consumer(Trigger trigger = {})
      : Block("taker", Stage::decode, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override { frame[twice] = 2 * frame[number]; }
};

// Reaches for another block's port.
class Thief final : public Block {
 public:
  explicit Thief(const Consumer& victim) : Block("thief", Stage::decode), victim_(victim) {}
  void run(Frame& frame) const override { frame[victim_.twice] = 1; }

 private:
  const Consumer& victim_;
};

const std::vector<Condition> guided{{"cond", {}}, {"uncond", {{"prompt", "negative_prompt"}}}};

TEST(Plan, DerivesWhatARequestMustAndMayHold) {
  Plan plan = make_plan({std::make_shared<Producer>(), std::make_shared<Consumer>()}, {}, guided);
  EXPECT_TRUE(plan.problems.empty());
  ASSERT_TRUE(plan.find_input("prompt"));
  EXPECT_TRUE(plan.find_input("prompt")->required);
  ASSERT_TRUE(plan.find_input("negative_prompt"));
  EXPECT_FALSE(plan.find_input("negative_prompt")->required);
}

TEST(Plan, TellsOfAnInputThatNobodyMakes) {
  Plan plan = make_plan({std::make_shared<Consumer>()}, {}, guided);
  ASSERT_EQ(plan.problems.size(), 1u);
  EXPECT_THAT(plan.problems.front().text(),
              ::testing::AllOf(::testing::HasSubstr("taker"), ::testing::HasSubstr("'number'")));
}

TEST(Plan, TellsOfStagesOutOfOrder) {
  Plan plan = make_plan({std::make_shared<Consumer>(), std::make_shared<Producer>()}, {}, guided);
  EXPECT_EQ(plan.problems.size(), 2u);
}

TEST(Plan, LeavesBlocksWhoseTriggerDoesNotHold) {
  BlockList blocks{std::make_shared<Producer>(),
                   std::make_shared<Consumer>(has("image") && !has("mask"))};
  EXPECT_EQ(make_plan(blocks, {}, guided).workflow(), "maker");
  EXPECT_EQ(make_plan(blocks, {{"image"}, {}}, guided).workflow(), "maker > taker");
  EXPECT_EQ(make_plan(blocks, {{"image", "mask"}, {}}, guided).workflow(), "maker");
  EXPECT_EQ(blocks[1]->trigger().text(), "has(image) and not has(mask)");
}

TEST(Plan, KnowsTheLastReaderOfAValue) {
  class Last final : public Block {
   public:
    Input<int> number{this, "number", "a number"};
    Output<int> unread{this, "unread", "what nobody reads"};
    Last() : Block("last", Stage::decode) {}
    void run(Frame&) const override {}
  };
  Plan plan = make_plan({std::make_shared<Producer>(), std::make_shared<Last>()}, {}, guided);
  EXPECT_EQ(plan.last_read.at("prompt"), 0u);
  EXPECT_EQ(plan.last_read.at("negative_prompt"), 0u);
  EXPECT_EQ(plan.last_read.at("number"), 1u);
  EXPECT_TRUE(plan.reads_after(0, "number"));
  EXPECT_FALSE(plan.reads_after(0, "prompt"));
  EXPECT_FALSE(plan.reads_after(1, "unread"));
}

TEST(Frame, ForgetsAValueUnderAllConditions) {
  Frame frame({});
  frame.restore("cond", "number", 1);
  frame.restore("", "number", 2);
  frame.drop("number");
  EXPECT_EQ(frame.peek<int>("number", "cond"), nullptr);
  EXPECT_EQ(frame.peek<int>("number"), nullptr);
}

TEST(Frame, RunsABlockOnceForEachConditionWithItsInputsRenamed) {
  Frame frame({});
  Producer maker;
  frame.put("prompt", Texts{"a", "b"});
  frame.put("negative_prompt", Texts{"c"});
  for (const Condition& condition : guided) {
    frame.enter(&maker, &condition);
    maker.run(frame);
  }
  EXPECT_EQ(*frame.peek<int>("number", "cond"), 2);
  EXPECT_EQ(*frame.peek<int>("number", "uncond"), 1);
}

TEST(Frame, ThrowsForAPortThatTheRunningBlockDidNotDeclare) {
  Frame frame({});
  Consumer taker;
  Thief thief(taker);
  frame.enter(&thief, nullptr);
  EXPECT_THROW(thief.run(frame), InternalError);
}

TEST(Block, MayNotDeclareANameTwice) {
  class Twice final : public Block {
   public:
    Input<int> a{this, "a", ""};
    Output<int> b{this, "a", ""};
    Twice() : Block("twice", Stage::decode) {}
    void run(Frame&) const override {}
  };
  EXPECT_THROW(Twice(), InternalError);
}

}  // namespace
}  // namespace omnirt
