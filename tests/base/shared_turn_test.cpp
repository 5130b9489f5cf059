#include "base/shared_turn.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace omnirt {
namespace {
using ::testing::ElementsAre;

// A call of a kind; those of one kind join. -1: it joins none.
struct TestCall final : SharedCall {
  explicit TestCall(int kind, bool breaks = false) : kind(kind), breaks(breaks) {}
  bool joins(std::span<SharedCall* const> others) const override {
    auto fits = [&](const SharedCall* each) {
      return kind >= 0 && static_cast<const TestCall*>(each)->kind == kind;
    };
    return std::ranges::all_of(others, fits);
  }
  bool compute(std::span<SharedCall* const> all) noexcept override {
    most = std::max(most.load(), ++computing);
    for (SharedCall* each : all) static_cast<TestCall*>(each)->with = all.size();
    std::this_thread::yield();
    --computing;
    return !breaks;
  }
  int kind;
  bool breaks;
  size_t with = 0;  // calls that it was computed with, itself among them
  static inline std::atomic<int> computing{0}, most{0};
};

void in_threads(size_t count, auto&& run) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) threads.emplace_back([&, i] { run(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(SharedTurn, CallsThatJoinAreComputedTogether) {
  SharedTurn turn(4);
  std::vector<size_t> with(4);
  in_threads(4, [&](size_t i) {
    TestCall call(i < 3 ? 0 : 1);
    turn.meet(call);
    with[i] = call.with;
    turn.leave();
  });
  EXPECT_THAT(with, ElementsAre(3, 3, 3, 1));
  EXPECT_FALSE(turn.came_apart());
}

TEST(SharedTurn, CallsThatJoinNoneAreComputedOneAfterTheOther) {
  SharedTurn turn(4);
  TestCall::most = 0;
  in_threads(4, [&](size_t) {
    TestCall call(-1);
    turn.meet(call);
    EXPECT_EQ(call.with, 1u);
    turn.leave();
  });
  EXPECT_EQ(TestCall::most, 1);
}

TEST(SharedTurn, NoOneWaitsForARunThatHasLeft) {
  SharedTurn turn(3);
  std::vector<size_t> with(3);
  in_threads(3, [&](size_t i) {
    TestCall call(0);
    if (i > 0) turn.meet(call);
    with[i] = call.with;
    turn.leave();
  });
  EXPECT_THAT(with, ElementsAre(0, 2, 2));
}

TEST(SharedTurn, RunsWithMoreCallsThanOthersGoOnAmongThemselves) {
  SharedTurn turn(3);
  std::vector<std::vector<size_t>> with(3);
  in_threads(3, [&](size_t i) {
    for (size_t k = 0; k < i + 1; ++k) {
      TestCall call(static_cast<int>(k));
      turn.meet(call);
      with[i].push_back(call.with);
    }
    turn.leave();
  });
  EXPECT_THAT(with, ElementsAre(ElementsAre(3), ElementsAre(3, 2), ElementsAre(3, 2, 1)));
}

TEST(SharedTurn, ATurnRemembersThatCallsCameApart) {
  SharedTurn turn(2);
  in_threads(2, [&](size_t) {
    TestCall call(0, /*breaks=*/true);
    turn.meet(call);
    turn.leave();
  });
  EXPECT_TRUE(turn.came_apart());
}

// Each of many runs makes its calls and leaves, at once with all others.
TEST(SharedTurn, ManyRunsComeToTheirEnd) {
  TestCall::most = 0;
  for (int round = 0; round < 50; ++round) {
    SharedTurn turn(8);
    std::atomic<int> computed{0};
    in_threads(8, [&](size_t i) {
      for (size_t k = 0; k < 1 + i % 4; ++k) {
        TestCall call(static_cast<int>(i % 3) - 1);
        turn.meet(call);
        computed += call.with > 0;
      }
      turn.leave();
    });
    EXPECT_EQ(computed, 20);
  }
  EXPECT_EQ(TestCall::most, 1);
}

}  // namespace
}  // namespace omnirt
