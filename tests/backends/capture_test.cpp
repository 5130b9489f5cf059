// Whole models on a device that refuses what CUDA refuses in a capture
// (tests/plugins/fake_ascend.cpp in its strict mode): values that move between host and device. A
// call that asks for it would fall back on every device that captures.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "backends/ascend/ascend_backend.hpp"
#include "backends/contract.hpp"
#include "catalogue/golden_parity.hpp"

namespace omnirt::testing {
namespace {

class Capture : public ::testing::Test {
 protected:
  void SetUp() override {
    use_fake_ascend();
    setenv("FAKE_ASCEND_GRAPH", "strict", 1);
  }
  void TearDown() override { unsetenv("FAKE_ASCEND_GRAPH"); }
};

// The fallbacks of calls of the probe, whose body also does `more`.
std::vector<FallbackCount> fallbacks(const std::function<void(const Tensor&)>& more) {
  AscendBackend backend;
  ProbeNetwork network;
  FallbackCounter counter;
  // A graph is of one binding: with a new one for each call nothing would be captured.
  std::vector<std::shared_ptr<const Binding>> bindings;
  auto lease = [&](const ComputeForm& form, bool) {
    for (const auto& binding : bindings) {
      if (binding->form() == form) return binding;
    }
    return bindings.emplace_back(network.bind(backend, form));
  };
  ComponentRun run(backend.wrap_module("probe", "ProbeNetwork"), lease, {"probe", {}, &counter});
  const ComponentCall call{"", [&](Context& cx, const Values& in) {
                             more(one(in, "x"));
                             return result(network.forward(cx, one(in, "x")));
                           }};
  for (int i = 0; i < 3; ++i) run.call(call, {{"x", {ProbeNetwork::input(1, 8)}}});
  std::vector<FallbackCount> all = counter.all();
  std::erase_if(all, [](const auto& each) { return each.kind == FallbackKind::refused; });
  return all;
}

TEST_F(Capture, RefusesValuesThatMoveBetweenHostAndDevice) {
  EXPECT_TRUE(fallbacks([](const Tensor&) {}).empty());
  EXPECT_FALSE(fallbacks([](const Tensor& x) { static_cast<void>(x.to(at::kCPU)); }).empty());
  EXPECT_FALSE(
      fallbacks([](const Tensor& x) { static_cast<void>(at::arange(4).to(x.device())); }).empty());
  EXPECT_FALSE(
      fallbacks([](const Tensor& x) { static_cast<void>(x.sum().item<float>()); }).empty());
}

class CapturedModel : public Capture, public ::testing::WithParamInterface<const char*> {};

TEST_P(CapturedModel, FallsBackInNoCall) {
  for (const GoldenCase& golden : golden_cases()) {
    if (golden.name != GetParam()) continue;
    const Json record = golden_parity(golden, {"ascend", "compile", "fp32"});
    EXPECT_FALSE(record.contains("error")) << record;
    EXPECT_TRUE(record["fallbacks"].empty()) << record;
    return;
  }
  FAIL() << "no golden is called " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Families, CapturedModel,
                         ::testing::Values("sdxl/text2image", "flux2_klein/text2image",
                                           "svd/stock"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '/', '_');
                           return name;
                         });

}  // namespace
}  // namespace omnirt::testing
