#include "base/keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/nearest.hpp"

namespace omnirt {
namespace {

constexpr Key<int64_t> steps{"steps", int64_t{5}, {1, 10}, "steps", "help"};
constexpr Key<double> scale{"scale", 1.5, {0, 2}, "scale", "help"};

enum class Colour { red, dark_blue };

}  // namespace

template <>
struct ChoiceNames<Colour> {
  static constexpr std::array names{"red", "dark-blue"};
};

namespace {

constexpr Key<Colour> colour{"colour", Colour::dark_blue, "", "help"};
constexpr Key<Colour> unset_colour{"unset_colour", std::monostate{}, "", "help"};

std::string refusal(const KeyInfo& key, Json value) {
  std::vector<Finding> findings;
  return check_value(key, "config.x", value, findings) ? "" : findings.front().text();
}

TEST(CheckValue, NamesFieldValueAndLimit) {
  EXPECT_THAT(refusal(steps, 11), ::testing::AllOf(::testing::HasSubstr("config.x = 11"),
                                                   ::testing::HasSubstr("1 to 10")));
  EXPECT_NE(refusal(steps, 2.5), "");
  EXPECT_NE(refusal(steps, "2"), "");
  EXPECT_NE(refusal(steps, nullptr), "");
  EXPECT_NE(refusal(scale, std::nan("")), "");
}

TEST(Keys, OfAChoiceGiveItsEnumerators) {
  EXPECT_EQ(colour.fallback_json(), "dark-blue");
  EXPECT_THAT(colour.choice_list(), ::testing::ElementsAre("red", "dark-blue"));
  EXPECT_THAT(refusal(colour, "green"), ::testing::HasSubstr("red, dark-blue"));
  ConfigValues values;
  EXPECT_EQ(values.maybe(unset_colour), std::nullopt);
  values.set("unset_colour", "red", Origin::user);
  EXPECT_EQ(values.get(unset_colour), Colour::red);
}

TEST(CheckValue, TakesAWholeNumberWrittenAsAFraction) {
  std::vector<Finding> findings;
  Json value = 4.0;
  ASSERT_TRUE(check_value(steps, "x", value, findings));
  EXPECT_TRUE(value.is_number_integer());
}

TEST(CheckValue, LooksAtEachNumberOfAList) {
  constexpr Key<std::vector<int64_t>> size{"size", std::monostate{}, {1, 64}, "size", "help"};
  std::vector<Finding> findings;
  Json value = Json::array({4.0, 8});
  ASSERT_TRUE(check_value(size, "x", value, findings));
  EXPECT_EQ(value, Json::array({4, 8}));
  EXPECT_TRUE(value[0].is_number_integer());
  EXPECT_THAT(refusal(size, Json::array({8, 65})), ::testing::HasSubstr("1 to 64"));
  EXPECT_THAT(refusal(size, Json::array({8, 1.5})), ::testing::HasSubstr("list of whole numbers"));
  EXPECT_NE(refusal(size, Json::array()), "");
  EXPECT_NE(refusal(size, 8), "");
}

TEST(ConfigValues, RememberWhereEachValueCameFrom) {
  ConfigValues values;
  EXPECT_FALSE(values.maybe(steps));
  values.set("steps", 3, Origin::preset);
  EXPECT_EQ(values.get(steps), 3);
  EXPECT_EQ(values.to_json()["steps"]["origin"], "preset");
  EXPECT_THROW(values.get(scale), InternalError);
}

TEST(Nearest, FindsASlipAndNothingFarAway) {
  std::vector<std::string> known{"num_inference_steps", "guidance_scale", "seed"};
  EXPECT_EQ(nearest_name("guidence_scale", known), "guidance_scale");
  EXPECT_EQ(nearest_name("SEED", known), "seed");
  EXPECT_EQ(nearest_name("xylophone", known), "");
}

}  // namespace
}  // namespace omnirt
