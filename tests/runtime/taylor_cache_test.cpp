#include "runtime/taylor_cache.hpp"

#include <ATen/ops/allclose.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/run_state.hpp"

namespace omnirt {
namespace {

const RowIds two{{.condition = 0, .image = 0}, {.condition = 1, .image = 0}};

SharedStep plan(size_t index, bool skips, size_t order = 1, at::ScalarType type = at::kFloat) {
  return {.index = index,
          .interval = 2,
          .order = order,
          .kind = SharedStep::Kind::attention,
          .skips = skips,
          .factors_type = type};
}

struct Steps {
  TaylorCache cache;
  int computed = 0;

  // A module that makes first + index^power * slope at step `index`.
  Tensor at_step(const SharedStep& step, const RowIds& rows, double power = 1) {
    cache.enter(step);
    auto made = cache.take("attn", rows, [&] {
      ++computed;
      const double x = std::pow(static_cast<double>(step.index), power);
      return std::vector<Tensor>{at::full({static_cast<int64_t>(rows.size()), 3, 4}, 2 + 5 * x)};
    });
    return made.front();
  }
};

bool is(const Tensor& got, double value) {
  return at::allclose(got, at::full_like(got, value));
}

TEST(TaylorCache, ContinuesALineExactlyAtOrderOne) {
  Steps steps;
  for (size_t index : {0, 1}) steps.at_step(plan(index, false), two);
  EXPECT_TRUE(is(steps.at_step(plan(2, true), two), 2 + 5 * 2));
  EXPECT_TRUE(is(steps.at_step(plan(4, true), two), 2 + 5 * 4));
  EXPECT_EQ(steps.computed, 2);
  EXPECT_EQ(steps.cache.full_steps(), 2u);
  EXPECT_EQ(steps.cache.cached_steps(), 2u);
}

TEST(TaylorCache, RepeatsTheLastResultAtOrderZero) {
  Steps steps;
  for (size_t index : {0, 1}) steps.at_step(plan(index, false, 0), two);
  EXPECT_TRUE(is(steps.at_step(plan(3, true, 0), two), 2 + 5 * 1));
}

// f = 2 + 5 i^2 at 0, 1, 2: differences 5 and 15 of the first order, 10 of the second.
TEST(TaylorCache, TakesDifferencesOfDifferencesAtOrderTwo) {
  Steps steps;
  for (size_t index : {0, 1, 2}) steps.at_step(plan(index, false, 2), two, 2);
  EXPECT_TRUE(is(steps.at_step(plan(4, true, 2), two, 2), 22 + 15 * 2 + 10 * 2));
}

TEST(TaylorCache, ComputesABatchOfWhichARowIsUnknown) {
  Steps steps;
  steps.at_step(plan(0, false), {two[0]});
  steps.at_step(plan(1, true), two);
  EXPECT_EQ(steps.computed, 2);
  EXPECT_EQ(steps.cache.full_steps(), 2u);
  steps.at_step(plan(2, true), {two[1]});  // known by now, whatever the batch
  EXPECT_EQ(steps.computed, 2);
}

TEST(TaylorCache, KeepsItsFactorsInTheTypeThatIsAskedFor) {
  RunState state;
  TaylorCache& cache = state.taylor_cache();
  const Tensor made = at::rand({2, 3, 4});
  cache.enter(plan(0, false, 1, at::kBFloat16));
  cache.take("attn", two, [&] { return std::vector<Tensor>{made, made}; });
  EXPECT_EQ(state.bytes(), 2u * 2 * 3 * 4 * 2);
  cache.enter(plan(1, true, 1, at::kBFloat16));
  const auto predicted = cache.take("attn", two, [] { return std::vector<Tensor>(); });
  ASSERT_EQ(predicted.size(), 2u);
  EXPECT_EQ(predicted[1].scalar_type(), at::kFloat);
  EXPECT_TRUE(predicted[1].equal(made.to(at::kBFloat16).to(at::kFloat)));
  state.clear();
  EXPECT_TRUE(state.empty());
}

}  // namespace
}  // namespace omnirt
