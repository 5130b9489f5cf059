#include "base/whole_number.hpp"

#include <gtest/gtest.h>

namespace omnirt {
namespace {

// Parsed numbers are unsigned, those of code signed.
TEST(WholeNumber, IsTheSameParsedAndBuiltInCode) {
  EXPECT_EQ(whole_number(Json(77), 2, 100), 77);
  EXPECT_EQ(whole_number(Json(uint64_t{77}), 2, 100), 77);
  EXPECT_EQ(whole_number(parse_json("77", "test"), 2, 100), 77);
  EXPECT_EQ(whole_number(parse_json("-3", "test"), -5, 0), -3);
}

TEST(WholeNumber, IsNothingElse) {
  for (const Json& value : {Json(1), Json(101), Json(-77), Json(77.0), Json("77"), Json(true),
                            Json(), Json::array({77})})
    EXPECT_EQ(whole_number(value, 2, 100), std::nullopt) << value;
}

TEST(WholeNumber, NeverWrapsAround) {
  EXPECT_EQ(whole_number(Json(UINT64_MAX)), std::nullopt);
  EXPECT_EQ(whole_number(Json(uint64_t{1} << 63), INT64_MIN, 0), std::nullopt);
  EXPECT_EQ(whole_number(Json(uint64_t{INT64_MAX})), INT64_MAX);
  EXPECT_EQ(whole_number(Json(INT64_MIN)), INT64_MIN);
}

}  // namespace
}  // namespace omnirt
