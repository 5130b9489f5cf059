#include "base/site_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace omnirt {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

const std::string up_attention = "up_blocks.1.attentions.0.transformer_blocks.0.attn1";

TEST(SitePlan, FindsPlacesByAnyRunOfTheirPathsParts) {
  for (const char* name : {"up_blocks", "up_blocks.1", "up_blocks.1.attentions.0", "attentions.0",
                           "transformer_blocks.0.attn1", "up_blocks.*.attentions.0"})
    EXPECT_TRUE(means_site(name, up_attention)) << name;
  for (const char* name :
       {"up_blocks.2", "up_blocks.10", "up_block", "blocks.1", "attn2", "*.*.*.*.*.*.*.*"})
    EXPECT_FALSE(means_site(name, up_attention)) << name;
}

TEST(SitePlan, KnowsTheShortNamesOfAUnetsBlocks) {
  EXPECT_TRUE(means_site("up", up_attention));
  EXPECT_TRUE(means_site("up.block_1", up_attention));
  EXPECT_TRUE(means_site("up.block_1.attentions_0", up_attention));
  EXPECT_FALSE(means_site("up.block_0", up_attention));
  EXPECT_TRUE(means_site("mid", "mid_block.attentions.0.transformer_blocks.0.attn1"));
  EXPECT_FALSE(means_site("down", up_attention));
}

TEST(SitePlan, TakesANumberForAPlaceInANetworksOneList) {
  EXPECT_TRUE(means_site("7", "transformer_blocks.7.attn1"));
  EXPECT_FALSE(means_site("7", "transformer_blocks.17.attn1"));
  EXPECT_FALSE(means_site("0", up_attention));
}

TEST(SitePlan, ARuleNamesSitesOfItsKindOnly) {
  std::vector<Site> sites{{"mid_block.attn1", SiteKind::self_attention},
                          {"mid_block.ff", SiteKind::feed_forward}};
  EXPECT_THAT(sites_of_rule({"mid", SiteKind::feed_forward, {}, ""}, sites),
              ElementsAre("mid_block.ff"));
  EXPECT_THAT(names_of_sites(sites, SiteKind::self_attention),
              ElementsAre("mid_block", "mid_block.attn1"));
}

TEST(SitePlan, HasAKeyThatTellsItsChangesApart) {
  SitePlan none, skip, blur, more_blur;
  skip.set("a", {SiteChange::What::skip});
  blur.set("a", {SiteChange::What::blurred_queries, 1});
  more_blur.set("a", {SiteChange::What::blurred_queries, 2});
  EXPECT_EQ(none.key(), "");
  EXPECT_NE(skip.key(), blur.key());
  EXPECT_NE(blur.key(), more_blur.key());
  ASSERT_TRUE(blur.find("a"));
  EXPECT_FALSE(blur.find("b"));
}

}  // namespace
}  // namespace omnirt
