#include "base/device_id.hpp"

#include <gtest/gtest.h>

namespace omnirt {
namespace {

TEST(DeviceId, IsABackendAndAnIndex) {
  EXPECT_EQ(parse_device_id("cuda"), (DeviceId{"cuda", 0}));
  EXPECT_EQ(parse_device_id("cuda:0"), (DeviceId{"cuda", 0}));
  EXPECT_EQ(parse_device_id("cpu-stub:12"), (DeviceId{"cpu-stub", 12}));
  EXPECT_EQ((DeviceId{"cuda", 1}).text(), "cuda:1");
}

TEST(DeviceId, IsNothingElse) {
  for (const char* text : {"", ":", ":1", "cuda:", "cuda:x", "cuda:-1", "cuda:+1", "cuda: 1",
                           "cuda:1:2", "cuda:1000", "cuda:99999999999999999999"})
    EXPECT_EQ(parse_device_id(text), std::nullopt) << text;
}

TEST(DeviceId, IsOrderedByBackendThenIndex) {
  EXPECT_LT((DeviceId{"a", 9}), (DeviceId{"b", 0}));
  EXPECT_LT((DeviceId{"a", 2}), (DeviceId{"a", 10}));
}

}  // namespace
}  // namespace omnirt
