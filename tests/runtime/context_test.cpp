// What a context makes once per run, and for which rows.
#include "runtime/context.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "runtime/run_state.hpp"

namespace omnirt {
namespace {

struct OneRun {
  ops::OpTable ops;
  RunState state;
  Value text{at::arange(6, at::kFloat).view({2, 3}), Life::run};
  int made = 0;

  // One call whose batch takes these rows of the text: their double, made once.
  Tensor doubled(const std::vector<int64_t>& rows) {
    Context cx(ops, nullptr, {.state = &state});
    cx.know(text);
    const Tensor taken = cx.once_in_rows("taken", rows, text.tensor(), [&] {
      return text.tensor().index_select(0, at::tensor(rows));
    });
    const Tensor half = cx.once("same", taken, [&] { return taken.clone(); });
    return cx.once("doubled", half, [&] {
      ++made;
      return half * 2;
    });
  }
};

TEST(Context, MakesOnceWhatCallsMakeOfAValue) {
  OneRun run;
  const Tensor first = run.doubled({0, 1});
  EXPECT_TRUE(run.doubled({0, 1}).is_same(first));
  EXPECT_EQ(run.made, 1);
}

TEST(Context, TellsBatchesOfOtherRowsOfOneValueApart) {
  OneRun run;
  run.doubled({0, 0, 1});
  EXPECT_EQ(run.doubled({0}).size(0), 1);
  EXPECT_TRUE(run.doubled({1, 0}).equal(run.text.tensor().flip(0) * 2));
  EXPECT_TRUE(run.doubled({0, 1}).equal(run.text.tensor() * 2));
  EXPECT_EQ(run.made, 4);
}

TEST(RunState, KnowsTheBatchesThatItWasFilledBy) {
  RunState state;
  const RunState::Batch batch{{1, {0, 0}}, {2, {}}}, shared{{1, {0}}, {2, {}}};
  state.note_made(batch);
  EXPECT_TRUE(state.has_made(batch));
  EXPECT_FALSE(state.has_made(shared));
  state.clear();
  EXPECT_FALSE(state.has_made(batch));
}

}  // namespace
}  // namespace omnirt
