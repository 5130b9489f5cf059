// What every backend must keep to; docs/adding-a-backend.md leads here. Runs over all that this
// build holds; one that is not available on this machine is held to its refusal alone.
#include "backends/contract.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace omnirt::testing {
namespace {

// Of the largest value. fp32: another order of additions over sums of 72 terms. Half types: their
// epsilon (2^-11, 2^-8) through three layers and a softmax.
double tolerance(at::ScalarType dtype) {
  return dtype == at::kFloat ? 1e-4 : dtype == at::kHalf ? 2e-2 : 1e-1;
}

double relative_error(const Tensor& got, const Tensor& expected) {
  Tensor difference = (got.to(at::kFloat) - expected).abs().max();
  return (difference / expected.abs().max()).item<double>();
}

class BackendContract : public ::testing::TestWithParam<BackendInfo> {
 protected:
  void SetUp() override {
    Availability found = availability(GetParam());
    if (!found.available) GTEST_SKIP() << GetParam().name << ": " << found.reason;
    backend_ = GetParam().make(0);
    backend_->prepare({});
  }
  std::unique_ptr<Backend> backend_;
};

class ListedBackend : public ::testing::TestWithParam<BackendInfo> {};

TEST_P(ListedBackend, TellsWhetherItIsThereAndWhy) {
  Availability found = availability(GetParam());
  EXPECT_FALSE(found.reason.empty());
  EXPECT_TRUE(found.available || !found.way_out.empty());
}

TEST_P(ListedBackend, IsNamedAsItIsListedAndResolvedByThatName) {
  Availability found = availability(GetParam());
  if (found.available) {
    EXPECT_EQ(GetParam().make(0)->name(), GetParam().name);
    EXPECT_EQ(resolve_device({GetParam()}, GetParam().name).device.backend, GetParam().name);
  } else {
    EXPECT_THROW(resolve_device({GetParam()}, GetParam().name), Unsupported);
  }
}

// As validation and `omnirt backends` ask it: of a backend that was only made.
TEST_P(ListedBackend, ReportsMemoryBeforeItIsPrepared) {
  if (!availability(GetParam()).available) GTEST_SKIP() << GetParam().name;
  const std::unique_ptr<Backend> backend = GetParam().make(0);
  EXPECT_GT(backend->available_memory_gb(), 0);
  backend->reset_memory_stats();
  EXPECT_GE(backend->memory_stats().peak_bytes, backend->memory_stats().allocated_bytes);
}

TEST_P(BackendContract, ComputesInFp32AndInEachTypeThatItNames) {
  auto options = backend_->capabilities().dtype_options();
  EXPECT_THAT(options, ::testing::Contains("fp32"));
  Tensor x = ProbeNetwork::input(2, 8), expected = expected_of_probe(x);
  for (const std::string& name : options) {
    PlanFacts facts = facts_of(name);
    for (Level level : all_levels) {
      ProbeRun probe(*backend_, {.only = level, .required = {}}, facts);
      if (!probe.run().plan()) continue;
      // Kernels may round what they multiply alone, and hold tensors in fp32.
      if (level == Level::eager || probe.run().plan()->form.dtype != at::kFloat)
        EXPECT_EQ(probe.run().plan()->form.dtype, facts.dtype);
      EXPECT_LT(relative_error(probe.call(x), expected), tolerance(facts.dtype))
          << name << " at " << to_string(level);
    }
  }
}

TEST_P(BackendContract, HasALevelAndTellsEveryAttemptWithItsReason) {
  ProbeRun probe(*backend_);
  ASSERT_TRUE(probe.run().plan());
  auto attempts = probe.run().timeline().attempts;
  for (const Attempt& attempt : attempts) {
    EXPECT_FALSE(attempt.reason.empty()) << attempt.level;
    EXPECT_EQ(attempt.selected, &attempt == &attempts.back());
    EXPECT_GE(attempt.ms, 0);
  }
}

TEST_P(BackendContract, CompilesWhereItSaysSoAndRefusesWithAReasonElsewhere) {
  auto wrapped = backend_->wrap_module("probe", "ProbeNetwork");
  EXPECT_EQ(wrapped->at(Level::compile).ok, backend_->capabilities().compile_available)
      << wrapped->at(Level::compile).reason;
}

// What a mode names must be there at its levels, and what no mode has at a level must be refused,
// so that nothing that a request may ask for is dropped without a word.
TEST_P(BackendContract, DoesAtEachLevelJustWhatItsModesSay) {
  Capabilities can = backend_->capabilities();
  Tensor x = ProbeNetwork::input(2, 8), expected = expected_of_probe(x);
  for (const ComputeMode& mode : can.modes) {
    EXPECT_THAT(mode.quantize, ::testing::Contains("none"));
    EXPECT_THAT(mode.pack, ::testing::Contains("auto"));
    for (Level level : mode.levels) {
      if (level == Level::compile && !can.compile_available) continue;
      for (const std::string& dtype : mode.dtype) {
        for (const std::string& quantize : mode.quantize) {
          ProbeRun probe(*backend_, {.only = level, .required = {}}, facts_of(dtype, quantize));
          if (level == Level::kernel_override && backend_->overrides("ProbeNetwork").empty())
            continue;
          ASSERT_TRUE(probe.run().plan()) << dtype << " " << quantize << " at " << to_string(level);
          double error = relative_error(probe.call(x), expected);
          EXPECT_LT(error, quantize == "int8" ? 5e-2 : tolerance(facts_of(dtype).dtype));
          EXPECT_TRUE(quantize != "int8" || error > 1e-4) << "nothing was rounded";
        }
      }
    }
  }
}

TEST_P(BackendContract, GivesTheSameBitsForTheSameCall) {
  Tensor x = ProbeNetwork::input(1, 8);
  for (Level level : all_levels) {
    ProbeRun probe(*backend_, {.only = level, .required = {}});
    if (!probe.run().plan()) continue;
    Tensor first = probe.call(x);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(probe.call(x).equal(first)) << to_string(level);
  }
}

TEST_P(BackendContract, TakesShapesInAnyOrder) {
  for (Level level : all_levels) {
    ProbeRun probe(*backend_, {.only = level, .required = {}});
    if (!probe.run().plan()) continue;
    for (auto [batch, side] : {std::pair{1, 8}, {2, 8}, {1, 6}, {2, 5}, {1, 8}}) {
      Tensor x = ProbeNetwork::input(batch, side);
      EXPECT_LT(relative_error(probe.call(x), expected_of_probe(x)), tolerance(at::kFloat))
          << batch << " x " << side << " at " << to_string(level);
    }
  }
}

TEST_P(BackendContract, ServesSeveralThreadsAtOnce) {
  Tensor a = ProbeNetwork::input(1, 8), b = ProbeNetwork::input(2, 6), got_a, got_b;
  std::thread first([&] { got_a = ProbeRun(*backend_).call(a); });
  std::thread second([&] { got_b = ProbeRun(*backend_).call(b); });
  first.join();
  second.join();
  EXPECT_LT(relative_error(got_a, expected_of_probe(a)), tolerance(at::kFloat));
  EXPECT_LT(relative_error(got_b, expected_of_probe(b)), tolerance(at::kFloat));
}

// Each thread goes on while the other captures, where a backend does.
TEST_P(BackendContract, ServesThreadsWhoseCallsRepeat) {
  const Tensor inputs[] = {ProbeNetwork::input(1, 8), ProbeNetwork::input(2, 6)};
  Tensor got[2];
  std::vector<std::string> fallbacks[2];
  auto repeat = [&](size_t which) {
    for (int run = 0; run < 4; ++run) {
      ProbeRun probe(*backend_);
      for (int call = 0; call < 4; ++call) got[which] = probe.call(inputs[which]);
      for (const FallbackCount& each : probe.counter().all()) {
        if (each.kind != FallbackKind::refused) fallbacks[which].push_back(each.component);
      }
    }
  };
  std::thread first([&] { repeat(0); }), second([&] { repeat(1); });
  first.join();
  second.join();
  for (size_t which : {0, 1}) {
    EXPECT_LT(relative_error(got[which], expected_of_probe(inputs[which])), tolerance(at::kFloat));
    EXPECT_THAT(fallbacks[which], ::testing::IsEmpty());
  }
}

TEST_P(BackendContract, MovesTensorsThereAndBackUnchanged) {
  for (const Tensor& x : {ProbeNetwork::input(1, 5), at::arange(7), at::tensor(3.5)}) {
    Tensor there = backend_->to_device(x, x.scalar_type());
    EXPECT_EQ(there.device().type(), backend_->device().type());
    EXPECT_TRUE(backend_->to_host(there).equal(x));
  }
  Tensor cast = backend_->to_device(ProbeNetwork::input(1, 5), at::kDouble);
  EXPECT_EQ(cast.scalar_type(), at::kDouble);
}

TEST_P(BackendContract, LeavesACallsInputsAsTheyAre) {
  Tensor x = ProbeNetwork::input(1, 8), before = x.clone();
  ProbeRun(*backend_).call(x);
  EXPECT_TRUE(x.equal(before));
}

TEST_P(BackendContract, ReportsMemoryAndForgetsAPeakWhenAsked) {
  EXPECT_GT(backend_->available_memory_gb(), 0);
  ProbeRun(*backend_).call(ProbeNetwork::input(4, 64));
  backend_->synchronize();
  size_t peak = backend_->memory_stats().peak_bytes;
  backend_->reset_memory_stats();
  MemoryStats after = backend_->memory_stats();
  EXPECT_GE(peak, after.peak_bytes);
  EXPECT_GE(after.peak_bytes, after.allocated_bytes);
}

TEST_P(BackendContract, ServesARegisteredOverrideAtItsLevelAndFallsBackWhereItFails) {
  backend_->register_override(
      "ProbeNetwork", {"broken linear", [](ops::OpTable& table) {
                         table.linear.add({"broken", [](const ops::Linear&) { return true; },
                                           [](const ops::Linear&) -> Tensor {
                                             throw std::runtime_error("does not compute");
                                           }});
                       }});
  ProbeRun probe(*backend_, {.only = {}, .required = {}});
  ProbeRun overridden(*backend_, {.only = Level::kernel_override, .required = {}});
  auto wrapped = backend_->wrap_module("probe", "ProbeNetwork");
  const auto& outcome = wrapped->at(Level::kernel_override);
  ASSERT_TRUE(outcome.ok) << outcome.reason;
  EXPECT_THAT(outcome.reason, ::testing::HasSubstr("broken linear"));
  Tensor x = ProbeNetwork::input(1, 8);
  EXPECT_LT(relative_error(probe.call(x), expected_of_probe(x)), tolerance(at::kFloat));
  // The tag's own kernels come before those of every tag. Below the required level nothing may
  // serve, so the kernel's failure ends the run.
  EXPECT_THAT(outcome.reason, ::testing::StartsWith("kernels: broken linear"));
  EXPECT_THROW(overridden.call(x), RunFailed);
}

TEST_P(BackendContract, GivesOverridesToTheClassThatTheyAreFor) {
  const std::vector<std::string> before = backend_->overrides("ProbeNetwork");
  backend_->register_override("OtherNetwork", {"other", [](ops::OpTable&) {}});
  EXPECT_EQ(backend_->overrides("ProbeNetwork"), before);
  EXPECT_EQ(backend_->overrides("OtherNetwork").front(), "other");
  backend_->register_override("OtherNetwork", {"other", [](ops::OpTable&) {}});
  EXPECT_EQ(backend_->overrides("OtherNetwork").size(), before.size() + 1);
}

TEST_P(BackendContract, ListsTheOverridesThatPrepareRegisters) {
  EXPECT_EQ(backend_->overrides("ProbeNetwork"), backend_->capabilities().overrides);
}

// A run may come while another one computes, with other components and another config.
TEST_P(BackendContract, IsPreparedForEachRun) {
  RunFacts run{.components = {{"net", "ProbeNetwork"}}, .model = {"probe", "test"}};
  run.config.set("dtype", "fp32", Origin::fallback);
  const std::vector<std::string> before = backend_->overrides("ProbeNetwork");
  backend_->prepare(run);
  EXPECT_EQ(backend_->overrides("ProbeNetwork"), before);
}

// Devices are numbered from 0; each is a separate object with the same capabilities to offer.
TEST_P(ListedBackend, HasTheDevicesThatItCounts) {
  if (!availability(GetParam()).available) GTEST_SKIP() << GetParam().name;
  const int count = device_count(GetParam());
  ASSERT_GE(count, 1);
  for (int index = 0; index < count; ++index) {
    const auto backend = GetParam().make(index);
    const DeviceId id{GetParam().name, index};
    EXPECT_EQ(backend->id(), id);
    EXPECT_EQ(backend->device_count(), count);
    EXPECT_EQ(resolve_device({GetParam()}, id.text()).device, id);
  }
  try {
    resolve_device({GetParam()}, DeviceId{GetParam().name, count}.text());
    ADD_FAILURE() << "a device that is not there";
  } catch (const Unsupported& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("has " + std::to_string(count)));
  }
}

TEST_P(BackendContract, EndsACallWithinASegmentOfBeingCancelled) {
  CancelToken cancel;
  cancel.cancel();
  ProbeRun probe(*backend_);
  EXPECT_THROW(probe.call(ProbeNetwork::input(1, 8), &cancel), Cancelled);
  EXPECT_TRUE(probe.counter().all().empty() ||
              probe.counter().all().front().kind == FallbackKind::refused);
}

TEST_P(BackendContract, GoesOnAfterItsWeightsWereGivenBack) {
  auto wrapped = backend_->wrap_module("probe", "ProbeNetwork");
  ProbeNetwork network;
  Tensor x = ProbeNetwork::input(1, 8), expected = expected_of_probe(x);
  ComponentRun run(wrapped,
                   [&](const ComputeForm& form, bool) { return network.bind(*backend_, form); },
                   {"probe", {}, nullptr});
  for (int i = 0; i < 2; ++i) {
    ComponentCall call{"", [&](Context& cx, const Values& in) {
                         return result(network.forward(cx, one(in, "x")));
                       }};
    Tensor y = host(run.call(call, {{"x", {x}}}));
    EXPECT_LT(relative_error(y, expected), tolerance(at::kFloat));
    wrapped->forget();
  }
}

INSTANTIATE_TEST_SUITE_P(All, ListedBackend, ::testing::ValuesIn(backends_under_test()),
                         name_of_backend);
INSTANTIATE_TEST_SUITE_P(All, BackendContract, ::testing::ValuesIn(backends_under_test()),
                         name_of_backend);

}  // namespace
}  // namespace omnirt::testing
