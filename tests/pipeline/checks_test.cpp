#include "pipeline/checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guiders/classifier_free_guidance.hpp"
#include "pipeline/frame.hpp"

namespace omnirt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Key<int64_t> sides{"sides", std::monostate{}, {1, 9}, "", "how many"};

class Looks final : public Block {
 public:
  Config<int64_t> count{this, sides};
  Input<std::vector<std::string>> prompt{this, "prompt", "a text"};
  Input<io::Image> photo{this, "photo", "an image"};
  Component<nn::Network> part{this, "part_1"};
  Described<nn::Network> network{this, "network"};
  Looks() : Block("looks", Stage::prepare_conditions, Guidance::per_condition) {}
  void run(Frame&) const override {}
};

struct Asked {
  Settled settled;
  Looks block, other;
  Checks checks{settled, block};
};

TEST(Checks, ThrowForAPortOfAnotherBlock) {
  Asked asked;
  EXPECT_THROW(asked.checks.maybe(asked.other.count), InternalError);
  EXPECT_THROW(asked.checks.settle(asked.other.count, 3, Origin::derived), InternalError);
  EXPECT_THROW(asked.checks.texts(asked.other.prompt), InternalError);
  EXPECT_THROW(asked.checks.image(asked.other.photo), InternalError);
  EXPECT_THROW(asked.checks.folder(asked.other.part), InternalError);
  EXPECT_THROW(asked.checks[asked.other.network], InternalError);
  EXPECT_THROW(asked.checks.refuse_restored(asked.other.prompt, "no"), InternalError);
}

TEST(Checks, SettleWhatFollowsAndNotInTheUsersName) {
  Asked asked;
  EXPECT_EQ(asked.checks.origin(asked.block.count), Origin::fallback);
  asked.checks.settle(asked.block.count, 4, Origin::model);
  EXPECT_EQ(asked.checks[asked.block.count], 4);
  EXPECT_EQ(asked.checks.origin(asked.block.count), Origin::model);
  EXPECT_THROW(asked.checks.settle(asked.block.count, 5, Origin::user), InternalError);
}

TEST(Checks, TellOfUnusedKeysWhereTheUserSetThem) {
  Asked asked;
  asked.checks.unused(asked.block.count, "has no effect", "remove it");
  EXPECT_THAT(asked.settled.warnings, IsEmpty());
  asked.settled.config.set(sides.name, 3, Origin::user);
  asked.checks.unused(asked.block.count, "has no effect", "remove it");
  ASSERT_EQ(asked.settled.warnings.size(), 1u);
  EXPECT_EQ(asked.settled.warnings.front().field, "config.sides");
}

TEST(Checks, GiveTheTextsOfEachConditionThatTheRequestHas) {
  Asked asked;
  asked.settled.guider =
      std::make_shared<ClassifierFreeGuidance>(GuidanceConfig{.guidance_scale = 5.0});
  asked.settled.texts["prompt"] = {"a cup"};
  auto inputs = [&] {
    std::vector<std::string> names;
    for (const auto& texts : asked.checks.all_texts(asked.block.prompt))
      names.push_back(texts.input);
    return names;
  };
  EXPECT_THAT(inputs(), ElementsAre("prompt"));
  asked.settled.texts["negative_prompt"] = {"a fork"};
  EXPECT_THAT(inputs(), ElementsAre("prompt", "negative_prompt"));
  const Condition negative = asked.checks.conditions().back();
  EXPECT_EQ(asked.checks.texts(asked.block.prompt, negative).input, "negative_prompt");
}

TEST(Checks, TellOfAComponentThatIsMissing) {
  Asked asked;
  try {
    asked.checks[asked.block.network];
    FAIL() << "nothing was thrown";
  } catch (const InvalidRequest& thrown) {
    EXPECT_THAT(thrown.findings().front().text(), HasSubstr("model.network"));
  }
}

TEST(Checks, CountComponentsOfAKind) {
  Asked asked;
  EXPECT_EQ(asked.checks.count_alike(asked.block.part), 0u);
  for (const char* name : {"part", "part_1", "part_3"}) asked.settled.folder.components[name] = {};
  EXPECT_EQ(asked.checks.count_alike(asked.block.part), 2u);
}

TEST(Checks, SeeAnInnerBlockByItsOwnView) {
  Asked asked;
  Checks of_other = asked.checks.within(asked.other);
  EXPECT_FALSE(of_other.maybe(asked.other.count).has_value());
  EXPECT_THROW(of_other.maybe(asked.block.count), InternalError);
}

TEST(Plan, LoadsNothingForWhatIsOnlyDescribed) {
  BlockList list{std::make_shared<Looks>()};
  Plan plan = make_plan(list, {.inputs = {"prompt", "photo"}}, {});
  EXPECT_THAT(plan.components, ElementsAre("part_1"));
}

}  // namespace
}  // namespace omnirt
