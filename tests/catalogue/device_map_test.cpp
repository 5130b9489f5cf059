// Runs on two scripted devices of one backend: components that are placed one by one, runs at the
// same time, and each device's own memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "backends/stub/stub_backend.hpp"
#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {
using ::testing::HasSubstr;

// An engine whose cpu-stub has two devices with memory of their own.
struct TwoDevices {
  std::vector<std::shared_ptr<StubDevice>> devices;
  std::unique_ptr<Engine> engine;

  explicit TwoDevices(int64_t first_bytes = int64_t{1} << 34,
                      int64_t second_bytes = int64_t{1} << 34) {
    StubScript script;
    script.devices = {{.bytes = first_bytes}, {.bytes = second_bytes}};
    for (const StubScript::Device& each : script.devices)
      devices.push_back(std::make_shared<StubDevice>(each));
    Catalogue catalogue = builtin_catalogue();
    for (BackendInfo& info : catalogue.backends) {
      if (info.name != "cpu-stub") continue;
      info.make = [script, all = devices](int index) {
        const auto place = static_cast<size_t>(index);
        return std::make_unique<StubBackend>(script, place < all.size() ? all[place] : nullptr,
                                             index);
      };
    }
    engine = std::make_unique<Engine>(std::move(catalogue));
  }
  Outcome run(const GenerateRequest& request) const { return run_on(*engine, request); }
  Proposal check(const GenerateRequest& request) const { return engine->check(request); }
  uint64_t peak(size_t device) const { return devices[device]->account().memory().peak_bytes; }
};

// The catalogue with devices of the stub that no test looks into.
Catalogue scripted(const StubScript& script) {
  Catalogue catalogue = builtin_catalogue();
  for (BackendInfo& info : catalogue.backends) {
    if (info.name == "cpu-stub")
      info.make = [script](int index) {
        return std::make_unique<StubBackend>(script, nullptr, index);
      };
  }
  return catalogue;
}

GenerateRequest request_of(const Json& config = Json::object()) {
  GenerateRequest request = golden_request("sd15/text2image");
  request.backend = "cpu-stub";
  request.config["num_inference_steps"] = 2;
  request.config.update(config);
  return request;
}

void expect_equal(const Outcome& got, const Outcome& expected) {
  ASSERT_EQ(got.latents_after.size(), expected.latents_after.size());
  for (size_t i = 0; i < got.latents_after.size(); ++i)
    EXPECT_TRUE(got.latents_after[i].equal(expected.latents_after[i])) << "step " << i;
  EXPECT_TRUE(got.image.equal(expected.image));
}

std::map<std::string, std::string> placement(const RunReport& report) {
  std::map<std::string, std::string> devices;
  for (const PlacementReport& each : report.device_placement) devices[each.component] = each.device;
  return devices;
}

using Placed = std::map<std::string, std::string>;

TEST(DeviceIndex, ChoosesTheDeviceThatARunComputesOn) {
  const TwoDevices machine;
  GenerateRequest request = request_of();
  const Outcome first = machine.run(request);
  EXPECT_GT(machine.devices[0]->allocations(), 0u);
  EXPECT_EQ(machine.devices[1]->allocations(), 0u);
  EXPECT_EQ(first.report.device, "cpu-stub:0");
  const uint64_t before = machine.devices[0]->allocations();
  request.backend = "cpu-stub:1";
  const Outcome second = machine.run(request);
  expect_equal(second, first);
  EXPECT_EQ(machine.devices[0]->allocations(), before);
  EXPECT_GT(machine.devices[1]->allocations(), 0u);
  EXPECT_EQ(second.report.backend, "cpu-stub");
  EXPECT_EQ(second.report.device, "cpu-stub:1");
  EXPECT_EQ(placement(second.report)["unet"], "cpu-stub:1");
  ASSERT_EQ(second.report.memory.devices.size(), 1u);
  EXPECT_EQ(second.report.memory.devices[0].device, "cpu-stub:1");
  EXPECT_NEAR(second.report.memory.available_gb, 16, 0.1);
}

TEST(DeviceIndex, ThatIsNotThereIsRefusedWithHowManyThereAre) {
  const TwoDevices machine;
  GenerateRequest request = request_of();
  for (const auto& [given, said] :
       std::map<std::string, std::string>{{"cpu-stub:2", "backend cpu-stub has 2"},
                                          {"cpu-stub:x", "not the index of a device"},
                                          {"cpu:1", "backend cpu has 1"}}) {
    request.backend = given;
    const Proposal proposal = machine.check(request);
    ASSERT_EQ(proposal.errors.size(), 1u) << given;
    EXPECT_EQ(proposal.errors[0].field, "backend");
    EXPECT_EQ(proposal.errors[0].value, given);
    EXPECT_THAT(proposal.errors[0].message, HasSubstr(said));
  }
}

TEST(DeviceMap, PlacesComponentsAndChangesNoBit) {
  const TwoDevices machine;
  const Outcome expected = TwoDevices().run(request_of());
  const Outcome made =
      machine.run(request_of({{"device_map", "unet=cpu-stub:1,text_encoder=cpu-stub:1"}}));
  expect_equal(made, expected);
  EXPECT_EQ(
      placement(made.report),
      (Placed{{"unet", "cpu-stub:1"}, {"vae", "cpu-stub:0"}, {"text_encoder", "cpu-stub:1"}}));
  for (size_t device : {0, 1})
    EXPECT_LT(machine.peak(device), *expected.report.memory.tensor_peak_bytes);
}

TEST(DeviceMap, MixesBackendsAndReportsTheMemoryOfEachDevice) {
  const TwoDevices machine;
  const Outcome made =
      machine.run(request_of({{"device_map", "unet=cpu-stub:1,text_encoder=cpu"}}));
  EXPECT_EQ(placement(made.report),
            (Placed{{"unet", "cpu-stub:1"}, {"vae", "cpu-stub:0"}, {"text_encoder", "cpu:0"}}));
  const std::vector<DeviceMemoryReport>& memory = made.report.memory.devices;
  ASSERT_EQ(memory.size(), 3u);
  EXPECT_EQ(memory[0].device, "cpu-stub:0");
  for (const DeviceMemoryReport& each : memory) {
    EXPECT_GT(each.available_gb, 0) << each.device;
    EXPECT_GT(each.tensor_peak_bytes.value_or(0), 0u) << each.device;
  }
  EXPECT_EQ(made.report.config_resolved.find("device_map")->value,
            (Json{{"unet", "cpu-stub:1"}, {"text_encoder", "cpu"}}));
  // The cpu's own kernels add in another order than the references.
  EXPECT_GT(psnr(made.image, TwoDevices().run(request_of()).image, 1.0), 60);
}

// A component that is mapped to the run's own device is where it is without a map.
TEST(DeviceMap, TakesAnObjectToo) {
  const TwoDevices machine;
  const Outcome made =
      machine.run(request_of({{"device_map", {{"vae", "cpu-stub:1"}, {"unet", "cpu-stub"}}}}));
  EXPECT_EQ(
      placement(made.report),
      (Placed{{"unet", "cpu-stub:0"}, {"vae", "cpu-stub:1"}, {"text_encoder", "cpu-stub:0"}}));
}

TEST(DeviceMap, RefusesByNameWhatCannotBe) {
  const TwoDevices machine;
  struct Case {
    Json config;
    std::string field, message;
  };
  const std::vector<Case> cases{
      {{{"device_map", "unnet=cpu"}}, "config.device_map.unnet", "no network of this run"},
      {{{"device_map", "tokenizer=cpu"}}, "config.device_map.tokenizer", "no network of this run"},
      {{{"device_map", "unet=gpu9"}}, "config.device_map.unet", "no such backend"},
      {{{"device_map", "unet=cpu-stub:7"}}, "config.device_map.unet", "backend cpu-stub has 2"},
      {{{"device_map", "unet=auto"}}, "config.device_map.unet", "not a device"},
      {{{"device_map", {{"unet", 1}}}}, "config.device_map.unet", "not a device"},
      {{{"device_map", "unet"}}, "config.device_map", "not a list of components"},
      {{{"device_map", "unet=cpu,unet=cpu"}}, "config.device_map", "not a list of components"},
      {{{"device_map", ""}}, "config.device_map", "not a list of components"},
      {{{"device_map", "unet=cpu"}, {"dtype", "bf16"}, {"level", "kernel_override"}},
       "config.dtype",
       "backend cpu, where device_map places unet"},
      {{{"device_map", "vae=cpu"}, {"storage_dtype", "bf16"}},
       "config.storage_dtype",
       "does not go with backend cpu-stub"}};
  for (const Case& each : cases) {
    SCOPED_TRACE(each.config.dump());
    const Proposal proposal = machine.check(request_of(each.config));
    ASSERT_FALSE(proposal.errors.empty());
    EXPECT_EQ(proposal.errors[0].field, each.field);
    EXPECT_THAT(proposal.errors[0].message, HasSubstr(each.message));
    EXPECT_FALSE(proposal.errors[0].way_out.empty());
  }
}

// Where one device of a run plans no memory, no budget could be kept.
TEST(DeviceMap, RefusesBudgetsWhereADevicePlansNone) {
  Engine plain(builtin_catalogue());
  GenerateRequest request = request_of({{"device_map", "vae=cpu-stub"}, {"memory_budget", "8GB"}});
  request.backend = "cpu";
  const Proposal proposal = plain.check(request);
  ASSERT_EQ(proposal.errors.size(), 1u);
  EXPECT_EQ(proposal.errors[0].field, "config.memory_budget");
  EXPECT_THAT(proposal.errors[0].message, HasSubstr("backend cpu-stub does not plan memory"));
}

// One map serves all parts of a run that is split.
TEST(DeviceMap, HoldsForTheComponentsOfEachPart) {
  const Json map = {{"device_map", "unet=cpu-stub:1,vae=cpu-stub:1"}};
  const TwoDevices machine;
  const Outcome whole = machine.run(request_of(map));
  TemporaryFolder folder;
  const std::string state = (folder.path() / "state.safetensors").string();
  GenerateRequest first = request_of(map);
  first.config.update({{"stop_after", "prepare_conditions"}, {"state", state}});
  EXPECT_EQ(placement(machine.run(first).report), (Placed{{"text_encoder", "cpu-stub:0"}}));
  GenerateRequest second;
  second.config["resume"] = state;
  const Outcome rest = machine.run(second);
  EXPECT_EQ(placement(rest.report), (Placed{{"unet", "cpu-stub:1"}, {"vae", "cpu-stub:1"}}));
  EXPECT_TRUE(rest.image.equal(whole.image));
}

TEST(DeviceMap, KeepsABudgetOnEachDevice) {
  const Json map = {{"device_map", "unet=cpu-stub:1"}};
  const Outcome resident = TwoDevices().run(request_of(map));
  Json config = map;
  config["device_memory_budget"] = "1kB";
  const Proposal refused = TwoDevices().check(request_of(config));
  // Each device's plan needs more: two errors, of which one names the other device.
  ASSERT_EQ(refused.errors.size(), 2u);
  EXPECT_THAT(refused.errors[0].message, HasSubstr("of the device at the least"));
  EXPECT_THAT(refused.errors[1].message, HasSubstr("of cpu-stub:1 at the least"));
  const MemoryPlanReport plan = refused.memory_plan.value();
  ASSERT_EQ(plan.others.size(), 1u);
  const uint64_t least = std::max(plan.predicted_peak_bytes, plan.others[0].predicted_peak_bytes);
  config["device_memory_budget"] = std::to_string(least);
  const TwoDevices machine;
  const Outcome kept = machine.run(request_of(config));
  expect_equal(kept, resident);
  EXPECT_LE(machine.peak(0), least);
  EXPECT_LE(machine.peak(1), least);
  EXPECT_TRUE(kept.report.fallbacks.empty());
  EXPECT_EQ(kept.report.memory.plan.value().device, "cpu-stub:0");
  EXPECT_EQ(kept.report.memory.plan->others.at(0).device, "cpu-stub:1");
}

// A device that is too small for its component is planned; the other one's components stay.
TEST(DeviceMap, PlansEachDeviceByItsOwnFreeMemory) {
  const Json map = {{"device_map", "unet=cpu-stub:1"}};
  const TwoDevices whole;
  const Outcome resident = whole.run(request_of(map));
  EXPECT_FALSE(resident.report.memory.plan);
  Json planned = map;
  planned["offload"] = "none";
  const MemoryPlanReport all = whole.check(request_of(planned)).memory_plan.value();
  const TwoDevices tight(int64_t{1} << 34,
                         static_cast<int64_t>(all.others.at(0).components.at(0).bytes));
  const Outcome made = tight.run(request_of(map));
  expect_equal(made, resident);
  const MemoryPlanReport plan = made.report.memory.plan.value();
  for (const PlannedComponentReport& each : plan.components)
    EXPECT_EQ(each.offload, Offload::none) << each.name;
  const PlannedComponentReport& moved = plan.others.at(0).components.at(0);
  EXPECT_EQ(moved.name, "unet");
  EXPECT_NE(moved.offload, Offload::none);
  EXPECT_LE(tight.peak(1), whole.peak(1));
}

TEST(DeviceMap, PlansTheProcessForComponentsOnTheCpu) {
  const Json map = {{"device_map", "text_encoder=cpu"}};
  const Outcome expected = TwoDevices().run(request_of(map));
  Json planned = map;
  planned.update({{"offload", "leaf"}, {"memory_budget", "8GB"}});
  const Outcome made = TwoDevices().run(request_of(planned));
  expect_equal(made, expected);
  const MemoryPlanReport plan = made.report.memory.plan.value();
  EXPECT_EQ(plan.device, "cpu-stub:0");
  ASSERT_EQ(plan.others.size(), 1u);
  EXPECT_EQ(plan.others[0].device, "") << "the process";
  EXPECT_EQ(plan.others[0].budget_bytes, 8'000'000'000u);
  EXPECT_EQ(plan.others[0].components.at(0).name, "text_encoder");
}

// Memory that one device lacks is relieved there: what others hold stays.
TEST(DeviceMap, RelievesTheDeviceThatHasNoMemoryLeft) {
  const Json map = {{"device_map", "unet=cpu-stub:1"}, {"num_inference_steps", 1}};
  const Outcome expected = TwoDevices().run(request_of(map));
  StubScript script;
  script.devices = {{.bytes = int64_t{1} << 34}, {.bytes = int64_t{1} << 34, .fail_at = {40}}};
  Engine engine(scripted(script));
  const Outcome made = run_on(engine, request_of(map));
  expect_equal(made, expected);
  ASSERT_EQ(made.report.fallbacks.size(), 1u);
  EXPECT_EQ(made.report.fallbacks[0].component, "unet");
  EXPECT_EQ(made.report.fallbacks[0].kind, "memory");
}

// Each makes what it makes alone, and is charged on its own device.
TEST(DeviceMap, TwoRunsComputeOnTwoDevicesAtOnce) {
  const Outcome alone = TwoDevices().run(request_of());
  const TwoDevices machine;
  std::vector<Outcome> made(2);
  std::vector<std::thread> threads;
  for (size_t i : {0, 1}) {
    threads.emplace_back([&, i] {
      GenerateRequest request = request_of();
      request.backend = "cpu-stub:" + std::to_string(i);
      made[i] = machine.run(request);
    });
  }
  for (std::thread& each : threads) each.join();
  for (size_t i : {0, 1}) {
    expect_equal(made[i], alone);
    EXPECT_EQ(made[i].report.device, "cpu-stub:" + std::to_string(i));
    EXPECT_EQ(made[i].report.memory.tensor_peak_bytes, alone.report.memory.tensor_peak_bytes);
  }
}

TEST(PreparedRun, HasItsComponentsItsModelAndItsConfig) {
  StubScript script;
  script.overrides = {{"UNet2DConditionModel", "of unets"}, {"FluxTransformer2DModel", "of flux"}};
  script.unprepared = {{.model = "sd15",
                        .tag = "AutoencoderKL",
                        .key = "scheduler",
                        .value = "EulerDiscreteScheduler",
                        .reason = "not with euler"}};
  Engine engine(scripted(script));
  const Outcome made =
      run_on(engine, request_of({{"level", "kernel_override"}, {"scheduler", "DDIMScheduler"}}));
  for (const TimelineReport& each : made.report.backend_timeline) {
    EXPECT_EQ(each.attempts.at(0).reason,
              each.component == "unet" ? "kernels: of unets, stub" : "kernels: stub");
  }
  const Proposal refused = engine.check(request_of({{"scheduler", "EulerDiscreteScheduler"}}));
  ASSERT_EQ(refused.errors.size(), 1u);
  EXPECT_EQ(refused.errors[0].message, "not with euler");
}

}  // namespace
}  // namespace omnirt::testing
