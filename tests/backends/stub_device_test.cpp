// Weights that come and go on a device, held against the stub's account of its memory, whose copies
// are made as late as the marks allow.
#include "backends/stub/stub_device.hpp"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/contract.hpp"
#include "backends/stub/stub_backend.hpp"
#include "base/error.hpp"
#include "runtime/weight_stream.hpp"

namespace omnirt::testing {
namespace {
using ::testing::HasSubstr;

constexpr uint64_t megabyte = uint64_t{1} << 20;

std::shared_ptr<StubDevice> device_of(StubScript::Device script) {
  watch_tensor_memory();
  if (script.bytes == 0) script.bytes = static_cast<int64_t>(megabyte << 10);
  return std::make_shared<StubDevice>(script);
}

// `count` weights of {rows, 1024}; all numbers of the i-th are i.
std::vector<std::shared_ptr<const Weight>> weights_of(size_t count, int64_t rows) {
  std::vector<std::shared_ptr<const Weight>> all;
  for (size_t i = 0; i < count; ++i) {
    auto owner = std::make_shared<Tensor>(at::full({rows, 1024}, static_cast<double>(i)));
    Weight weight;
    weight.shape = {rows, 1024};
    weight.data = static_cast<const std::byte*>(owner->const_data_ptr());
    weight.bytes = owner->nbytes();
    weight.owner = owner;
    all.push_back(std::make_shared<const Weight>(std::move(weight)));
  }
  return all;
}

Param param(size_t index) {
  return {"layer." + std::to_string(index) + ".weight", {}, index};
}

struct Streamed {
  std::shared_ptr<StubDevice> device;
  size_t count;
  Residency residency;
  std::shared_ptr<const Binding> binding;
  std::unique_ptr<WeightStream> stream;

  Streamed(size_t count, int64_t prefetch, const StubScript::Device& script = {},
           std::vector<std::shared_ptr<const Weight>> weights = {})
      : device(device_of(script)), count(count) {
    if (weights.empty()) weights = weights_of(count, 64);
    std::vector<ParamUse> uses;
    for (size_t i = 0; i < count; ++i)
      uses.push_back({i, "layer." + std::to_string(i), "", weights[i]->bytes});
    residency = cut_into_groups(uses, Offload::leaf, 0);
    residency.prefetch = prefetch;
    binding = std::make_shared<const Binding>(
        weights, ComputeForm{}, [device = device](const Tensor& stored, at::ScalarType dtype) {
          return device->moved(stored, dtype);
        });
    stream = std::make_unique<WeightStream>(binding, residency, device->copies());
  }
  // The weight as it is computed with: all of it is the same number.
  float used(size_t index) const {
    stream->use(index);
    const Tensor& there = (*binding)[param(index)];
    EXPECT_TRUE(device->account().holds(there));
    EXPECT_TRUE(there.min().equal(there.max()));
    return there.flatten()[0].item<float>();
  }
};

class DeviceStream : public ::testing::TestWithParam<int64_t> {};

TEST_P(DeviceStream, BringsEachWeightWholeAndHoldsNoMoreThanItsResidencySays) {
  Streamed each(7, GetParam());
  for (int call = 0; call < 3; ++call) {
    for (size_t i = 0; i < each.count; ++i) EXPECT_EQ(each.used(i), static_cast<float>(i));
  }
  EXPECT_EQ(each.device->account().memory().peak_bytes, each.residency.peak_bytes());
  EXPECT_EQ(each.stream->figures().groups, 3 * each.count);
  each.stream.reset();
  EXPECT_EQ(each.device->account().memory().current_bytes, 0u);
}

TEST_P(DeviceStream, HasWhatIsAskedForOutOfOrder) {
  Streamed each(6, GetParam());
  for (size_t i : {3, 1, 5, 0, 0, 4, 2, 3, 4, 5, 0}) EXPECT_EQ(each.used(i), static_cast<float>(i));
  EXPECT_LE(each.device->account().memory().peak_bytes, each.residency.peak_bytes());
}

TEST_P(DeviceStream, ThatFindsNoMemorySaysSoAndLeavesNoneTaken) {
  Streamed each(6, GetParam(), {.fail_at = {4}});
  EXPECT_THROW(for (size_t i = 0; i < each.count; ++i) each.used(i), OutOfMemory);
  each.stream.reset();
  EXPECT_EQ(each.device->account().memory().current_bytes, 0u);
}

TEST_P(DeviceStream, EndsTheCallWithTheErrorOfAWeightThatCannotBeRead) {
  auto weights = weights_of(5, 64);
  Weight torn = *weights[3];
  auto torn_once = std::make_shared<bool>(false);
  torn.release = [torn_once] {
    if (!std::exchange(*torn_once, true)) throw std::runtime_error("the file is gone");
  };
  weights[3] = std::make_shared<const Weight>(torn);
  Streamed each(5, GetParam(), {}, weights);
  EXPECT_THROW(for (size_t i = 0; i < each.count; ++i) each.used(i), std::runtime_error);
  each.stream.reset();
  EXPECT_EQ(each.device->account().memory().current_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(Ahead, DeviceStream, ::testing::Values(0, 1, 3));

TEST(DeviceStream, MakesTheFormsThatAreComputedWith) {
  auto device = device_of({});
  auto weights = weights_of(2, 8);
  Weight image = *weights[1];
  image.shape = {8, 64, 4, 4};
  weights[1] = std::make_shared<const Weight>(image);
  const ComputeForm form{.dtype = at::kBFloat16, .channels_last = true};
  auto place = [device](const Tensor& stored, at::ScalarType dtype) {
    return device->moved(stored, dtype);
  };
  auto whole = std::make_shared<const Binding>(weights, form, place);
  auto own = std::make_shared<const Binding>(weights, form, place);
  Residency residency =
      cut_into_groups({{0, "a", "", 8 << 11}, {1, "b", "", 8 << 11}}, Offload::leaf, 0);
  WeightStream stream(own, residency, device->copies());
  for (size_t i : {0, 1}) {
    stream.use(i);
    const Tensor &streamed = (*own)[param(i)], &placed = (*whole)[param(i)];
    EXPECT_TRUE(streamed.equal(placed));
    EXPECT_EQ(streamed.strides(), placed.strides());
    EXPECT_EQ(streamed.scalar_type(), at::kBFloat16);
  }
}

TEST(StubDevice, HasTheSizeThatItsScriptSaysLessWhatANeighbourHolds) {
  auto device = device_of({.bytes = 4096, .neighbour_bytes = 1024});
  EXPECT_EQ(device->free_bytes(), 3072u);
  const Tensor small = at::full({512}, 1.0);
  const Tensor there = device->moved(small, at::kFloat);
  EXPECT_EQ(device->free_bytes(), 1024u);
  EXPECT_THROW(device->moved(small, at::kFloat), OutOfMemory);
  device->neighbour_takes(0);
  const Tensor second = device->moved(small, at::kFloat);
  EXPECT_EQ(device->free_bytes(), 0u);
  device->limit(4096);
  EXPECT_TRUE(device->moved(there, at::kFloat).is_same(there));
  EXPECT_THROW(device->moved(at::full({1}, 1.0), at::kFloat), OutOfMemory);
}

// The probe on a device, whose calls are made again with less of it held.
struct Probed {
  std::shared_ptr<StubDevice> device;
  StubBackend backend;
  ProbeNetwork network;
  std::shared_ptr<const Binding> shared;
  FallbackCounter counter;
  std::unique_ptr<ComponentRun> run;

  explicit Probed(const StubScript::Device& script)
      : device(device_of(script)), backend({}, device) {
    backend.prepare({});
    auto lease = [this](const ComputeForm& form, bool own) {
      if (own) return network.bind(backend, form);
      if (!shared) shared = network.bind(backend, form);
      return shared;
    };
    auto uses = [](const DryForward& call, const ComputeForm&) {
      std::vector<ParamUse> all;
      for (const DryUse& use : call.uses) {
        const std::string& name = use.param.name;
        all.push_back({use.param.index, name.substr(0, name.rfind('.')), use.segment, 64});
      }
      return all;
    };
    run = std::make_unique<ComponentRun>(
        backend.wrap_module("probe", "ProbeNetwork"), lease,
        ComponentRun::Options{
            "probe", {}, &counter, false, {}, {[this] { shared.reset(); }, uses}});
  }
  Tensor call() {
    ComponentCall call{"", [this](Context& cx, const Values& in) {
                         return result(network.forward(cx, one(in, "x")));
                       }};
    return host(run->call(call, {{"x", {ProbeNetwork::input(2, 8)}}})).clone();
  }
};

TEST(DeviceOutOfMemory, AtEachAllocationOfACallIsRelieved) {
  Probed undisturbed({});
  const Tensor expected = undisturbed.call();
  const auto all = static_cast<int64_t>(undisturbed.device->allocations());
  EXPECT_GT(all, 10);
  for (int64_t number = 1; number <= all; ++number) {
    Probed probed({.fail_at = {number}});
    EXPECT_TRUE(probed.call().equal(expected)) << number;
    EXPECT_EQ(probed.counter.count("probe", Level::compile, FallbackKind::memory), 1u) << number;
    EXPECT_TRUE(probed.call().equal(expected)) << number;
  }
}

TEST(DeviceOutOfMemory, IsRelievedByHoldingOneLayerAtATime) {
  Probed undisturbed({});
  const Tensor expected = undisturbed.call();
  // At each try the first allocation fails: what others hold is released, then all of its own but
  // two layers, then all but one.
  const std::vector<int64_t> tries{1, 2, 3};
  for (size_t failed : {2, 3}) {
    Probed probed({.fail_at = {tries.begin(), tries.begin() + static_cast<int64_t>(failed)}});
    EXPECT_TRUE(probed.call().equal(expected));
    EXPECT_EQ(probed.run->residency().offload, Offload::leaf);
    EXPECT_EQ(probed.run->residency().prefetch, failed == 2 ? 1 : 0);
  }
}

TEST(DeviceOutOfMemory, ThatLastsEndsTheCallAndLeavesNothingHalfMade) {
  Probed probed({.fail_from = 1});
  try {
    probed.call();
    ADD_FAILURE() << "computed without memory";
  } catch (const OutOfMemory& error) {
    EXPECT_THAT(error.what(), HasSubstr("even where one layer of it is held at a time"));
  }
  probed.run->release();
  EXPECT_EQ(probed.device->account().memory().current_bytes, 0u);
}

std::string refusal_of(const std::string& script) {
  try {
    parse_stub_script(script);
  } catch (const InvalidRequest& refused) {
    return refused.what();
  }
  return "taken";
}

TEST(StubScript, SaysWhatADevicesMemoryIs) {
  const StubScript script = parse_stub_script(
      R"({"devices": [{"bytes": 1000, "neighbour_bytes": 10, "fail_at": [3, 5], "fail_from": 9}]})");
  EXPECT_EQ(script.devices.at(0).fail_at, (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(script.devices.at(0).fail_from, 9);
  EXPECT_THAT(refusal_of(R"({"devices": [{}]})"), HasSubstr("give its bytes"));
  EXPECT_THAT(refusal_of(R"({"devices": [{"bytes": 8, "neighbour_bytes": -1}]})"),
              HasSubstr("no figure below 0"));
}

}  // namespace
}  // namespace omnirt::testing
