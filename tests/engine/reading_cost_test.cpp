#include "engine/reading_cost.hpp"

#include <gtest/gtest.h>

namespace omnirt {
namespace {

// A network of two groups of 100 MB that is called twice a step, and one that is called once.
struct Planned {
  PlanningFacts facts;
  RunMemoryPlan plan;

  Planned() {
    facts.components = {{.name = "transformer", .calls = 20, .products = 4e12},
                        {.name = "text_encoder", .calls = 2, .products = 9e12}};
    const WeightGroup group{.name = "blocks.0", .bytes = 100'000'000, .read_bytes = 100'000'000};
    plan.components["transformer"] = {.offload = Offload::group, .groups = {group, group}};
    plan.components["text_encoder"] = plan.components["transformer"];
  }
  ReadingReport cost(const io::ReadRates& rates) const {
    return reading_cost(facts, plan, /*steps=*/10, rates, /*products_per_s=*/1e12);
  }
};

TEST(ReadingCost, IsOfWhatIsReadAtEachStep) {
  const ReadingReport report = Planned().cost({.disk = 4e8, .cached = 4e9, .note = "measured"});
  EXPECT_EQ(report.bytes_per_step, 400'000'000u);
  EXPECT_DOUBLE_EQ(report.compute_s_per_step, 0.4);
  EXPECT_DOUBLE_EQ(report.from_disk.value().s_per_step, 1);
  EXPECT_DOUBLE_EQ(report.from_disk.value().cost_s_per_step, 0.6);
  EXPECT_EQ(report.from_page_cache.value().cost_s_per_step, 0);  // hidden
}

TEST(ReadingCost, HidesNothingWhereNoGroupIsReadAhead) {
  Planned planned;
  planned.plan.components["transformer"].prefetch = 0;
  const ReadingReport report = planned.cost({.disk = 4e8});
  EXPECT_DOUBLE_EQ(report.from_disk.value().cost_s_per_step, 1);
}

TEST(ReadingCost, SaysNothingOfADiskThatWasNotMeasured) {
  const io::ReadRates rates{.cached = 4e9, .note = "refused"};
  const Json json = to_json(Planned().cost(rates));
  EXPECT_TRUE(json["from_disk"].is_null());
  EXPECT_EQ(json["note"], "refused");
  EXPECT_EQ(json["bytes_per_step"], 400'000'000);
}

TEST(ReadingCost, IsNothingWhereAllStays) {
  Planned planned;
  planned.plan.components["transformer"] = {.offload = Offload::none};
  EXPECT_EQ(planned.cost({.disk = 4e8}).bytes_per_step, 0u);
}

TEST(ReadingCost, TakesTheRateOfAProductByTheClockThatItIsGiven) {
  double ticks = 0;
  // A millisecond between any two readings.
  const double rate = measured_products({}, {}, [&] { return ticks += 1; });
  EXPECT_DOUBLE_EQ(rate, 256.0 * 1024 * 1024 * 1e3);
}

}  // namespace
}  // namespace omnirt
