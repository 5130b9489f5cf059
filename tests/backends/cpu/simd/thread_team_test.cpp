#include "backends/cpu/simd/thread_team.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/cancel_scope.hpp"

namespace omnirt::cpu {
namespace {

// Every test leaves the team as it found it.
class ThreadTeam : public testing::Test {
 protected:
  ~ThreadTeam() override { set_team_size(before_); }
  int before_ = team_size();
};

TEST_F(ThreadTeam, CallsTheBodyOnceForEachItem) {
  for (const int size : {1, 2, 5}) {
    set_team_size(size);
    EXPECT_EQ(team_size(), size);
    for (const int64_t items : {0, 1, 2, 3, 100, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(items));
      parallel_for(items, [&](int64_t item, int thread) {
        EXPECT_GE(thread, 0);
        EXPECT_LT(thread, size);
        ++calls[static_cast<size_t>(item)];
      });
      for (const auto& count : calls) EXPECT_EQ(count, 1);
    }
  }
}

TEST_F(ThreadTeam, SurvivesManyShortCallsAndSleepsInBetween) {
  set_team_size(4);
  std::atomic<int64_t> sum{0};
  for (int call = 0; call < 3000; ++call) {
    if (call % 1000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    parallel_for(7, [&](int64_t item, int) { sum += item; });
  }
  EXPECT_EQ(sum, 3000 * 21);
}

TEST_F(ThreadTeam, RunsANestedCallOnTheSameThread) {
  set_team_size(3);
  std::atomic<int> calls{0};
  parallel_for(6, [&](int64_t, int outer) {
    const auto self = std::this_thread::get_id();
    parallel_for(5, [&](int64_t, int inner) {
      EXPECT_EQ(inner, outer);
      EXPECT_EQ(std::this_thread::get_id(), self);
      ++calls;
    });
  });
  EXPECT_EQ(calls, 30);
}

TEST_F(ThreadTeam, BringsTheBodysExceptionToTheCallerAndWorksOn) {
  set_team_size(3);
  for (int64_t bad = 0; bad < 20; ++bad) {
    const auto body = [&](int64_t item, int) {
      if (item == bad) throw std::runtime_error("item");
    };
    EXPECT_THROW(parallel_for(20, body), std::runtime_error);
  }
  std::atomic<int> calls{0};
  parallel_for(20, [&](int64_t, int) { ++calls; });
  EXPECT_EQ(calls, 20);
}

TEST_F(ThreadTeam, BringsANestedBodysExceptionToTheCaller) {
  set_team_size(2);
  const auto body = [](int64_t, int) {
    parallel_for(3, [](int64_t, int) { throw std::runtime_error("inner"); });
  };
  EXPECT_THROW(parallel_for(4, body), std::runtime_error);
}

TEST_F(ThreadTeam, ServesManyCallersOneAfterTheOther) {
  set_team_size(3);
  std::atomic<int> busy{0}, calls{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        TeamHold hold;
        EXPECT_EQ(busy.fetch_add(1), 0) << "two callers have the team";
        parallel_for(10, [&](int64_t, int) { ++calls; });
        --busy;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(calls, 4 * 50 * 10);
}

TEST_F(ThreadTeam, GivesEachThreadAndDepthScratchMemoryOfItsOwn) {
  set_team_size(2);
  parallel_for(50, [](int64_t item, int thread) {
    float* outer = scratch(thread, 1000);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(outer) % 64, 0u);
    for (int i = 0; i < 1000; ++i) outer[i] = static_cast<float>(item);
    parallel_for(2, [](int64_t, int inner) {
      float* own = scratch(inner, 1000);
      for (int i = 0; i < 1000; ++i) own[i] = -1;
    });
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(outer[i], static_cast<float>(item));
  });
}

TEST_F(ThreadTeam, KeepsScratchMemoryUntilItIsReleased) {
  set_team_size(1);
  release_scratch();
  EXPECT_EQ(scratch_bytes(), 0u);
  std::set<float*> seen;
  for (int call = 0; call < 3; ++call) {
    parallel_for(1, [&](int64_t, int thread) { seen.insert(scratch(thread, 50000)); });
  }
  EXPECT_EQ(seen.size(), 1u);
  EXPECT_GE(scratch_bytes(), 50000 * sizeof(float));
  release_scratch();
  EXPECT_EQ(scratch_bytes(), 0u);
}

TEST_F(ThreadTeam, SharesMemoryBetweenTheCallsOfAHold) {
  set_team_size(2);
  TeamHold hold;
  float* shared = hold.scratch(100);
  parallel_for(100, [&](int64_t item, int) { shared[item] = static_cast<float>(item); });
  std::atomic<int> wrong{0};
  parallel_for(100, [&](int64_t item, int thread) {
    scratch(thread, 100)[0] = -1;
    if (shared[99 - item] != static_cast<float>(99 - item)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST_F(ThreadTeam, EndsTheWorkWhenItsRunIsCancelled) {
  for (const int size : {1, 4}) {
    set_team_size(size);
    CancelToken token;
    CancelScope scope(&token);
    std::atomic<int64_t> calls{0};
    constexpr int64_t items = 1000;
    EXPECT_THROW(parallel_for(items,
                              [&](int64_t, int) {
                                ++calls;
                                token.cancel();
                              }),
                 Cancelled);
    EXPECT_LE(calls, size);
  }
}

TEST_F(ThreadTeam, TellsBodiesOfTheCallersRunOnEveryThread) {
  set_team_size(4);
  CancelToken token;
  CancelScope scope(&token);
  std::atomic<int> strangers{0};
  parallel_for(1000, [&](int64_t, int) { strangers += current_cancel() != &token; });
  EXPECT_EQ(strangers, 0);
  CancelScope none(nullptr);
  parallel_for(1000, [&](int64_t, int) { strangers += current_cancel() != nullptr; });
  EXPECT_EQ(strangers, 0);
}

}  // namespace
}  // namespace omnirt::cpu
