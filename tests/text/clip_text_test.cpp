#include "text/clip_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace omnirt::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ClipNormalize, ComposesFoldsSpaceAndLowers) {
  EXPECT_EQ(clip_normalize("  CAFE\u0301 \t\n au\u3000lait "), " caf\u00E9 au lait ");
  EXPECT_EQ(clip_normalize("&amp; &#39;"), "&amp; &#39;") << "HTML stays as it is";
}

TEST(ClipWords, SplitsLettersNumbersContractionsAndTheRest) {
  EXPECT_THAT(clip_words("it's 12 dogs'!"), ElementsAre("it", "'s", "1", "2", "dogs", "'!"));
  EXPECT_THAT(clip_words("we'll 'tis 'x"), ElementsAre("we", "'ll", "'t", "is", "'", "x"));
  EXPECT_THAT(clip_words("!'s"), ElementsAre("!'", "s")) << "the run of signs is longer";
}

TEST(ClipWords, LeavesOutSpace) {
  EXPECT_THAT(clip_words(""), IsEmpty());
  EXPECT_THAT(clip_words("   "), IsEmpty());
  EXPECT_THAT(clip_words(" a  b "), ElementsAre("a", "b"));
}

TEST(ClipWords, TakesASpecialTokensNameApartOnItsOwn) {
  EXPECT_THAT(clip_words("<|endoftext|>!"), ElementsAre("<|", "endoftext", "|>", "!"));
  EXPECT_THAT(clip_words("<|endoftext!>"), ElementsAre("<|", "endoftext", "!>"));
  EXPECT_THAT(clip_words("<<|startoftext|>!"), ElementsAre("<<|", "startoftext", "|>!"));
}

}  // namespace
}  // namespace omnirt::text
