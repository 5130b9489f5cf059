#include "runtime/block_times.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace omnirt {
namespace {
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;

double scripted_now = 0;
double scripted_clock() {
  return scripted_now;
}

auto row(const char* block, uint64_t calls, double ms) {
  return AllOf(Field(&BlockTime::block, block), Field(&BlockTime::calls, calls),
               Field(&BlockTime::ms, ms));
}

TEST(BlockTimes, ChargeEachBlockWithoutThoseInsideIt) {
  BlockTimes times(scripted_clock);
  for (int call = 0; call < 2; ++call) {
    const BlockTimes::Turn whole(&times, "", nullptr);
    scripted_now += 1;
    for (const char* block : {"blocks.0", "blocks.1"}) {
      const BlockTimes::Turn outer(&times, block, nullptr);
      scripted_now += 10;
      {
        const BlockTimes::Turn inner(&times, "inner", nullptr);
        scripted_now += 100;
      }
      scripted_now += 10;
    }
    scripted_now += 2;
  }
  EXPECT_THAT(times.all(), ElementsAre(row("", 2, 6), row("blocks.0", 2, 40), row("inner", 4, 400),
                                       row("blocks.1", 2, 40)));
}

TEST(BlockTimes, AreNotKeptWhereNoOneAsks) {
  const BlockTimes::Turn turn(nullptr, "blocks.0", nullptr);
}

}  // namespace
}  // namespace omnirt
