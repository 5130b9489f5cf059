#include "runtime/block_cache.hpp"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "runtime/run_state.hpp"

namespace omnirt {
namespace {

const RowIds two{{.condition = 0, .image = 0}, {.condition = 0, .image = 1}};

Tensor rows_of(double first, double second) {
  Tensor made = at::full({2, 3, 4}, first);
  made.select(0, 1).fill_(second);
  return made;
}

SharedStep first_block(size_t index, double threshold) {
  return {.index = index, .kind = SharedStep::Kind::first_block, .threshold = threshold};
}

TEST(BlockCache, ReusesARowWhereItsFirstBlockChangedLittle) {
  BlockCache cache;
  const Tensor none = at::full({2, 3, 4}, 0.0);
  int computed = 0;
  auto step = [&](size_t index, const Tensor& after, const Tensor& made) {
    cache.enter(first_block(index, 0.1));
    return cache.take(two, none, after, [&] {
      ++computed;
      return made;
    });
  };
  // They add 10 and 20 behind the first block.
  EXPECT_TRUE(step(0, rows_of(1, 1), rows_of(11, 21)).equal(rows_of(11, 21)));
  EXPECT_TRUE(step(1, rows_of(1.05, 0.95), {}).allclose(rows_of(11.05, 20.95)));
  // One row has changed: it alone takes what is computed, and is kept.
  EXPECT_TRUE(step(2, rows_of(1.05, 2), rows_of(99, 32)).allclose(rows_of(11.05, 32)));
  EXPECT_TRUE(step(3, rows_of(1.05, 2), {}).allclose(rows_of(11.05, 32)));
  EXPECT_EQ(computed, 2);
  EXPECT_EQ(cache.full_steps(), 2u);
  EXPECT_EQ(cache.cached_steps(), 2u);
}

// A row that stays while the others of its batch are replaced must not keep those in memory.
TEST(BlockCache, KeepsEachRowByItself) {
  RunState state;
  BlockCache& cache = state.block_cache();
  const Tensor none = at::full({2, 3, 4}, 0.0);
  cache.enter(first_block(0, 0.1));
  cache.take(two, none, rows_of(1, 1), [] { return rows_of(11, 21); });
  const size_t bytes = state.bytes();
  EXPECT_EQ(bytes, 2 * 2 * 3 * 4 * rows_of(0, 0).element_size());
  cache.enter(first_block(1, 0.1));
  cache.take(two, none, rows_of(1, 2), [] { return rows_of(11, 32); });
  EXPECT_EQ(state.bytes(), bytes);
  EXPECT_EQ(state.feature_bytes(), bytes);
}

TEST(BlockCache, ReusesWhatAPlanSkipsAndHasBeenKept) {
  BlockCache cache;
  const Tensor hidden = rows_of(1, 2);
  auto step = [&](size_t index, bool skips) {
    cache.enter({.index = index, .kind = SharedStep::Kind::magnitude, .skips = skips});
    return cache.take(two, hidden, hidden, [&] { return rows_of(3, 5); });
  };
  step(0, true);  // nothing was kept
  EXPECT_EQ(cache.full_steps(), 1u);
  EXPECT_TRUE(step(1, true).equal(rows_of(3, 5)));
  EXPECT_EQ(cache.cached_steps(), 1u);
  cache.forget();
  EXPECT_TRUE(cache.empty());
}

}  // namespace
}  // namespace omnirt
