#include "backends/cpu/planned_calls.hpp"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace omnirt::cpu {
namespace {

// Counts the dry forwards that calls of a variant take.
class Counted {
 public:
  size_t forwards(const std::string& variant) {
    size_t before = forwards_;
    ComponentCall call{variant, [this](Context&, const Values&) {
                         ++forwards_;
                         return result(at::empty({16}, at::TensorOptions().device(at::kMeta)));
                       }};
    planned_.planned_peak(call, {}, false);
    return forwards_ - before;
  }

 private:
  size_t forwards_ = 0;
  PlannedCalls planned_{std::make_shared<ops::OpTable>(), {}};
};

TEST(PlannedCalls, PlansACallOfOneShapeOnce) {
  Counted calls;
  EXPECT_EQ(calls.forwards("a"), 1u);
  EXPECT_EQ(calls.forwards("a"), 0u);
  EXPECT_EQ(calls.forwards("b"), 1u);
}

TEST(PlannedCalls, ForgetsTheShapesThatWereUsedLongestAgo) {
  Counted calls;
  calls.forwards("first");
  calls.forwards("second");
  for (int i = 0; i < 254; ++i) calls.forwards(fmt::format("{}", i));
  EXPECT_EQ(calls.forwards("first"), 0u);  // 256 are known; used again
  calls.forwards("one more");
  EXPECT_EQ(calls.forwards("first"), 0u);
  EXPECT_EQ(calls.forwards("second"), 1u);
}

}  // namespace
}  // namespace omnirt::cpu
