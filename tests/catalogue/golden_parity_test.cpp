#include "catalogue/golden_parity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace omnirt::testing {
namespace {
using ::testing::HasSubstr;

GoldenCase named(const std::string& name) {
  for (const GoldenCase& golden : golden_cases()) {
    if (golden.name == name) return golden;
  }
  throw std::runtime_error("no golden is called " + name);
}

TEST(GoldenParity, BeginsWithOneRunOfEachModel) {
  std::set<std::string> models, names;
  const std::vector<GoldenCase> all = golden_cases(), first = one_of_each_model();
  for (const GoldenCase& golden : all) {
    models.insert(golden.model);
    names.insert(golden.name);
  }
  EXPECT_GT(models.size(), 40u);
  EXPECT_EQ(names.size(), all.size());
  ASSERT_EQ(first.size(), models.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(all[i].name, first[i].name);
    EXPECT_EQ(models.erase(first[i].model), 1u);
  }
}

TEST(GoldenParity, ReportsPsnrLevelsAndFallbacksOfARun) {
  const Json record = golden_parity(named("sd15/text2image"), {"cpu", "compile", "fp32"});
  EXPECT_TRUE(record["passed"].get<bool>()) << record;
  EXPECT_EQ(record["compared"], "image");
  EXPECT_GT(record["psnr_db"].get<double>(), 60);
  EXPECT_EQ(record["floor_db"], 50);
  EXPECT_EQ(record["levels"]["unet"], "compile");
  EXPECT_TRUE(record["fallbacks"].empty());
  EXPECT_FALSE(record.contains("error"));
}

TEST(GoldenParity, HoldsHalfTypesToALowerFloor) {
  EXPECT_EQ(parity_floor_db("bf16"), 35);
  EXPECT_EQ(parity_floor_db("fp16"), 35);
}

TEST(GoldenParity, RecordsTheErrorOfARunThatCannotBeMade) {
  const Json record = golden_parity(named("sd15/text2image"), {"cpu", "eager", "fp64"});
  EXPECT_FALSE(record["passed"].get<bool>());
  EXPECT_THAT(record["error"].get<std::string>(), HasSubstr("dtype"));
}

}  // namespace
}  // namespace omnirt::testing
