#include "pipeline/block_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/frame.hpp"
#include "pipeline/model_spec.hpp"
#include "pipeline/plan.hpp"
#include "plain_blocks.hpp"

namespace omnirt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Maker;
using testing::Taker;
using testing::two;

std::string refusal(auto&& edit) {
  try {
    edit();
  } catch (const InvalidRequest& thrown) {
    return thrown.what();
  }
  return "";
}

TEST(BlockList, IsEditedByName) {
  BlockList list = two();
  insert_before(list, "maker", std::make_shared<Maker>("first"));
  insert_after(list, "taker", std::make_shared<Taker>("last"));
  EXPECT_THAT(block_names(list), ElementsAre("first", "maker", "taker", "last"));
  EXPECT_EQ(replace(list, "maker", std::make_shared<Maker>("other"))->name(), "maker");
  EXPECT_EQ(remove(list, "first")->name(), "first");
  EXPECT_THAT(block_names(list), ElementsAre("other", "taker", "last"));
  EXPECT_TRUE(find_block(list, "taker"));
  EXPECT_FALSE(find_block(list, "maker"));
}

TEST(BlockList, RefusesAnUnknownNameWithTheNearest) {
  BlockList list = two();
  for (auto edit : {+[](BlockList& l) { insert_before(l, "takr", std::make_shared<Taker>("x")); },
                    +[](BlockList& l) { insert_after(l, "takr", std::make_shared<Taker>("x")); },
                    +[](BlockList& l) { replace(l, "takr", std::make_shared<Taker>("x")); },
                    +[](BlockList& l) { remove(l, "takr"); }}) {
    EXPECT_THAT(refusal([&] { edit(list); }), HasSubstr("did you mean 'taker'?"));
  }
  EXPECT_THAT(block_names(list), ElementsAre("maker", "taker"));
}

TEST(BlockList, RefusesANameThatAnotherBlockHas) {
  BlockList list = two();
  EXPECT_THAT(refusal([&] { insert_after(list, "maker", std::make_shared<Taker>("taker")); }),
              HasSubstr("already"));
  EXPECT_THAT(refusal([&] { replace(list, "maker", std::make_shared<Taker>("taker")); }),
              HasSubstr("already"));
  EXPECT_NO_THROW(replace(list, "taker", std::make_shared<Taker>("taker")));
}

TEST(Plan, NamesWhoCouldMakeAMissingInput) {
  Catalogue catalogue;
  Family family;
  family.name = "others";
  family.blocks = {std::make_shared<Maker>("their_maker")};
  catalogue.families = {family};
  auto way_out = [&](const BlockList& list) {
    Plan plan = make_plan(list, {}, {}, &catalogue);
    return plan.problems.empty() ? "" : plan.problems.front().text();
  };
  EXPECT_EQ(way_out(two()), "");
  BlockList list = two();
  remove(list, "maker");
  EXPECT_THAT(way_out(list), HasSubstr("their_maker (family others)"));
  append(list, std::make_shared<Maker>("late"));
  EXPECT_THAT(way_out(list), HasSubstr("late makes it, and comes after it"));
  insert_before(list, "taker", std::make_shared<Maker>("early", has("image")));
  EXPECT_THAT(way_out(list), HasSubstr("early makes it when has(image)"));
}

}  // namespace
}  // namespace omnirt
