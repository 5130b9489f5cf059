// The ascend backend over a plug-in of the tests' own (tests/plugins/fake_ascend.cpp), whose device
// has the processor's memory.
#include "backends/ascend/ascend_backend.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "backends/ascend/plugin.hpp"
#include "backends/contract.hpp"

namespace omnirt::testing {
namespace {
using ::testing::HasSubstr;

std::vector<std::string> levels(const ComponentRun& run) {
  std::vector<std::string> all;
  for (const Attempt& attempt : run.timeline().attempts)
    all.push_back(attempt.level + (attempt.ok ? "+" : "-") + (attempt.selected ? "*" : ""));
  return all;
}

class Ascend : public ::testing::Test {
 protected:
  void SetUp() override {
    use_fake_ascend();
    unsetenv("FAKE_ASCEND_GRAPH");
  }
  void TearDown() override { unsetenv("FAKE_ASCEND_GRAPH"); }
  AscendBackend backend_;
};

TEST_F(Ascend, LoadsThePlugInThatTheEnvironmentNames) {
  Availability found = backend_.is_available();
  EXPECT_TRUE(found.available) << found.reason;
  EXPECT_THAT(found.reason, HasSubstr("fake_ascend"));
  EXPECT_EQ(ascend::plugin().devices, 1);
  EXPECT_EQ(backend_.device().str(), "npu:0");
}

TEST_F(Ascend, MovesTensorsToTheDeviceAndCountsTheirMemory) {
  ASSERT_TRUE(backend_.is_available().available);
  backend_.reset_memory_stats();
  size_t before = backend_.memory_stats().allocated_bytes;
  Tensor x = ProbeNetwork::input(1, 8);
  Tensor there = backend_.to_device(x, at::kHalf);
  EXPECT_EQ(there.device(), backend_.device());
  EXPECT_EQ(there.scalar_type(), at::kHalf);
  EXPECT_EQ(backend_.memory_stats().allocated_bytes, before + there.nbytes());
  EXPECT_GE(backend_.memory_stats().peak_bytes, before + there.nbytes());
  EXPECT_TRUE(backend_.to_host(there).is_cpu());
  EXPECT_EQ(backend_.available_memory_gb(), 3);
  backend_.synchronize();
}

TEST_F(Ascend, RunsByTheReferencesWhereThereIsNoGraphMode) {
  ProbeRun probe(backend_);
  Tensor x = ProbeNetwork::input(2, 8);
  EXPECT_TRUE(probe.call(x).allclose(expected_of_probe(x), 1e-4, 1e-4));
  EXPECT_THAT(levels(probe.run()),
              ::testing::ElementsAre("compile-", "kernel_override-", "eager+*"));
  EXPECT_THAT(probe.run().timeline().attempts[0].reason, HasSubstr("no graph mode"));
}

TEST_F(Ascend, FallsStrictlyToEagerWhereGraphModeFails) {
  setenv("FAKE_ASCEND_GRAPH", "fail", 1);
  ASSERT_TRUE(backend_.capabilities().supports_graph_mode);
  ProbeRun probe(backend_);
  Tensor x = ProbeNetwork::input(1, 8), expected = expected_of_probe(x);
  // The first call of a shape runs op by op; the second is to be captured.
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(probe.call(x).allclose(expected, 1e-4, 1e-4));
  EXPECT_THAT(levels(probe.run()),
              ::testing::ElementsAre("compile+", "compile-", "kernel_override-", "eager+*"));
  EXPECT_EQ(probe.run().timeline().attempts[1].reason,
            "call 2: graph mode, begin: this device records nothing");
  EXPECT_EQ(probe.counter().count("probe", Level::compile, FallbackKind::call), 1u);
}

TEST_F(Ascend, EndsTheRunWhereGraphModeIsRequiredAndFails) {
  setenv("FAKE_ASCEND_GRAPH", "fail", 1);
  ProbeRun probe(backend_, {.only = {}, .required = Level::compile});
  Tensor x = ProbeNetwork::input(1, 8);
  probe.call(x);
  EXPECT_THROW(probe.call(x), RunFailed);
}

}  // namespace
}  // namespace omnirt::testing
