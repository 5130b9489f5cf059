#include "runtime/step_cache.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "runtime/run_state.hpp"
#include "runtime/value.hpp"

namespace omnirt {
namespace {

const RowId cond{0, 0}, uncond{1, 0, true};
const RowIds both{cond, uncond};

// Rows of images 0, 1, ... of one condition.
RowId image(uint32_t number) {
  return {0, number};
}

Tensor rows_of(int64_t count) {
  return at::arange(4 * count, at::kFloat).view({count, 4});
}

TEST(StepCache, ComputesEveryIntervalthStepInFull) {
  StepCache cache;
  std::string steps;
  for (size_t index = 0; index < 7; ++index) {
    cache.enter({.index = index, .interval = 3});
    bool kept = cache.find("deep", both).defined();
    if (!kept) cache.keep("deep", both, rows_of(2));
    steps += kept ? 'c' : 'F';
  }
  EXPECT_EQ(steps, "FccFccF");
  EXPECT_EQ(cache.full_steps(), 3u);
  EXPECT_EQ(cache.cached_steps(), 4u);
}

TEST(StepCache, KeepsNothingAliveOverAFullStep) {
  StepCache cache;
  cache.enter({.index = 0, .interval = 2});
  cache.keep("deep", both, rows_of(2));
  cache.enter({.index = 2, .interval = 2});
  size_t kept = 0;
  cache.visit([&](const Tensor&) { ++kept; });
  EXPECT_EQ(kept, 0u);
}

TEST(StepCache, GivesABatchBackAsItWasKept) {
  StepCache cache;
  cache.enter({.index = 0, .interval = 2});
  Tensor batch = rows_of(2);
  cache.keep("deep", both, batch);
  cache.enter({.index = 1, .interval = 2});
  EXPECT_TRUE(cache.find("deep", both).is_same(batch));
}

TEST(StepCache, FindsRowsInWhateverBatchesTheyWereKept) {
  StepCache cache;
  cache.enter({.index = 0, .interval = 2});
  Tensor first = rows_of(2), second = rows_of(3) + 100;
  cache.keep("deep", {image(0), image(1)}, first);
  cache.keep("deep", {image(2), image(3), image(4)}, second);
  cache.enter({.index = 1, .interval = 2});
  Tensor mixed = cache.find("deep", {image(3), image(0)});
  ASSERT_EQ(mixed.size(0), 2);
  EXPECT_TRUE(at::equal(mixed[0], second[1]));
  EXPECT_TRUE(at::equal(mixed[1], first[0]));
  EXPECT_TRUE(at::equal(cache.find("deep", {image(1), image(0)})[0], first[1]));
  EXPECT_TRUE(at::equal(cache.find("deep", {image(0)}), first.narrow(0, 0, 1)));
}

TEST(StepCache, CountsAStepThatHadToComputeAsFull) {
  StepCache cache;
  cache.enter({.index = 0, .interval = 4});
  cache.keep("deep", {cond}, rows_of(1));
  cache.enter({.index = 1, .interval = 4});
  EXPECT_FALSE(cache.find("deep", both).defined());  // guidance comes on at this step
  cache.keep("deep", both, rows_of(2));
  EXPECT_FALSE(cache.find("deep", {RowId{7, 0}}).defined());
  EXPECT_EQ(cache.full_steps(), 2u);
  cache.enter({.index = 2, .interval = 4});
  EXPECT_TRUE(cache.find("deep", both).defined());
  EXPECT_EQ(cache.full_steps(), 2u);
  EXPECT_EQ(cache.cached_steps(), 1u);
}

TEST(StepCache, CountsAStepOnceHoweverManyBatchesItHas) {
  StepCache cache;
  for (int batch = 0; batch < 3; ++batch) cache.enter({.index = 0, .interval = 2});
  EXPECT_EQ(cache.full_steps(), 1u);
}

TEST(RunState, CountsEachStorageOnce) {
  RunState state;
  Tensor batch = rows_of(2);
  Value value(batch, Life::run);
  state.keep("a", value.id(), value.alive(), batch);
  state.keep("b", value.id(), value.alive(), batch.narrow(0, 1, 1));
  state.step_cache().enter({.index = 0, .interval = 2});
  state.step_cache().keep("deep", both, rows_of(2));
  EXPECT_EQ(state.bytes(), 2 * 8 * sizeof(float));
  state.clear();
  EXPECT_EQ(state.bytes(), 0u);
}

TEST(RunState, DropsWhatWasMadeOfAValueThatIsGone) {
  RunState state;
  auto value = std::make_unique<Value>(rows_of(1), Life::run);
  uint64_t id = value->id();
  state.keep("a", id, value->alive(), rows_of(2));
  EXPECT_NE(state.find("a", id), nullptr);
  value.reset();
  Value other(rows_of(1), Life::run);
  state.keep("a", other.id(), other.alive(), rows_of(2));
  EXPECT_EQ(state.find("a", id), nullptr);
}

}  // namespace
}  // namespace omnirt
