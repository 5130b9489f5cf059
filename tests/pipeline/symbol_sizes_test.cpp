#include "pipeline/symbol_sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace omnirt {
namespace {
using ::testing::HasSubstr;

std::string refusal(SymbolSizes& symbols, const std::vector<std::string>& shape,
                    const std::vector<int64_t>& sizes) {
  try {
    symbols.check(shape, sizes, "value");
  } catch (const InvalidFile& thrown) {
    return thrown.what();
  }
  return "";
}

TEST(SymbolSizes, TakesASymbolFromTheFirstValueAndHoldsTheNextAgainstIt) {
  SymbolSizes symbols;
  symbols.set("B", 2);
  EXPECT_EQ(refusal(symbols, {"B", "T", "D"}, {2, 77, 768}), "");
  EXPECT_EQ(refusal(symbols, {"B", "T"}, {2, 77}), "");
  EXPECT_THAT(refusal(symbols, {"B", "T"}, {3, 77}), HasSubstr("B is 2 by the request"));
  EXPECT_THAT(refusal(symbols, {"B", "T"}, {2, 78}), HasSubstr("T is 77 by its value 'value'"));
}

TEST(SymbolSizes, ReadsNumbersAndSums) {
  SymbolSizes symbols;
  EXPECT_EQ(refusal(symbols, {"1", "1 + E", "N"}, {1, 3, 340}), "");
  EXPECT_EQ(refusal(symbols, {"B", "E"}, {1, 2}), "");
  EXPECT_THAT(refusal(symbols, {"1", "E"}, {2, 2}), HasSubstr("1 is expected"));
  EXPECT_NE(refusal(symbols, {"1 + E"}, {4}), "");
}

TEST(SymbolSizes, RefusesAnotherRankAndWhatIsEmpty) {
  SymbolSizes symbols;
  EXPECT_THAT(refusal(symbols, {"B", "T"}, {2, 77, 768}), HasSubstr("of 3 dimensions"));
  EXPECT_THAT(refusal(symbols, {"B", "T"}, {2, 0}), HasSubstr("empty"));
}

TEST(SymbolSizes, RefusesTwoSizesThatAreTold) {
  SymbolSizes symbols;
  symbols.set("H/8", 16);
  symbols.set("H/8", 16);
  EXPECT_THROW(symbols.set("H/8", 32), InvalidFile);
}

}  // namespace
}  // namespace omnirt
