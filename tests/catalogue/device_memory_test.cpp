// Runs on a device whose memory is scripted (cpu-stub): budgets by its own account, the same images
// however weights come and go, memory that is not there, and neighbours that take it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/stub/stub_backend.hpp"
#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {
using ::testing::HasSubstr;

// An engine whose cpu-stub has memory of its own.
struct Machine {
  std::shared_ptr<StubDevice> device;
  std::unique_ptr<Engine> engine;

  explicit Machine(StubScript::Device script = {}) {
    if (script.bytes == 0) script.bytes = int64_t{1} << 34;
    device = std::make_shared<StubDevice>(script);
    Catalogue catalogue = builtin_catalogue();
    for (BackendInfo& info : catalogue.backends) {
      if (info.name == "cpu-stub")
        info.make = [device = device](int) {
          return std::make_unique<StubBackend>(StubScript(), device);
        };
    }
    engine = std::make_unique<Engine>(std::move(catalogue));
  }
  Outcome run(const GenerateRequest& request) const { return run_on(*engine, request); }
  MemoryPlanReport plan(const GenerateRequest& request) const {
    return engine->check(request).memory_plan.value();
  }
};

GenerateRequest request_of(const std::string& golden, const Json& config = Json::object()) {
  GenerateRequest request = golden_request(golden);
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

uint64_t memory_fallbacks(const RunReport& report) {
  uint64_t count = 0;
  for (const FallbackReport& each : report.fallbacks) {
    if (each.kind == "memory") count += each.count;
  }
  return count;
}

class OnDevice : public ::testing::TestWithParam<const char*> {
 protected:
  GenerateRequest request(const Json& memory = Json::object()) const {
    GenerateRequest request = request_of(GetParam(), memory);
    if (std::string(GetParam()) == "sd15/image2image") {
      request.adapters = Json::array(
          {{{"path", source_path("tests/goldens/adapters/files/kohya.safetensors").string()},
            {"mode", "merged"}}});
    }
    return request;
  }
};

TEST_P(OnDevice, ImagesAreTheSameToTheBitHoweverWeightsComeAndGo) {
  const Outcome plain = run(request());  // the stub without memory of its own
  const Outcome resident = Machine().run(request());
  EXPECT_FALSE(resident.report.memory.plan);
  expect_equal(resident, plain);
  for (const Json& memory :
       {Json{{"offload", "component"}}, Json{{"offload", "group"}, {"blocks_per_group", 1}},
        Json{{"offload", "leaf"}}, Json{{"offload", "leaf"}, {"prefetch_groups", 0}},
        Json{{"offload", "leaf"}, {"prefetch_groups", 3}}}) {
    SCOPED_TRACE(memory.dump());
    const Machine machine;
    const Outcome moved = machine.run(request(memory));
    expect_equal(moved, resident);
    const MemoryPlanReport plan = moved.report.memory.plan.value();
    EXPECT_FALSE(plan.device.empty());
    EXPECT_EQ(memory["offload"] != "component", moved.report.memory.weights_moved_bytes > 0);
    EXPECT_EQ(memory["offload"] != "component", plan.moved_bytes_per_step > 0);
    // By the device's account it takes no more than was predicted, and less than a resident run. Of
    // such small networks a plan counts up to half as much again.
    const uint64_t peak = *moved.report.memory.tensor_peak_bytes;
    EXPECT_LE(peak, plan.predicted_peak_bytes);
    EXPECT_GE(static_cast<double>(peak), 0.6 * static_cast<double>(plan.predicted_peak_bytes));
    EXPECT_LT(peak, *resident.report.memory.tensor_peak_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, OnDevice,
                         ::testing::Values("sd15/image2image", "sdxl/text2image",
                                           "flux2_klein/text2image", "qwen_image/text2image",
                                           "z_image/text2image", "sd3/text2image",
                                           "../control/flux/union_two"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase_if(name, [](char c) { return !std::isalnum(c); });
                           return name;
                         });

TEST(DeviceBudget, IsKeptByTheDevicesOwnAccount) {
  const Outcome resident = Machine().run(request_of("sd15/text2image"));
  const uint64_t whole = *resident.report.memory.tensor_peak_bytes;
  const uint64_t least = Machine()
                             .plan(request_of("sd15/text2image", {{"device_memory_budget", "1kB"}}))
                             .predicted_peak_bytes;
  ASSERT_LT(least, whole);
  for (int part = 0; part <= 4; ++part) {
    const uint64_t budget = least + (whole - least) * static_cast<uint64_t>(part) / 4;
    const Machine machine;
    const Outcome kept = machine.run(
        request_of("sd15/text2image", {{"device_memory_budget", std::to_string(budget)}}));
    SCOPED_TRACE(to_json(kept.report.memory.plan.value()).dump());
    expect_equal(kept, resident);
    EXPECT_LE(machine.device->account().memory().peak_bytes, budget);
    EXPECT_EQ(memory_fallbacks(kept.report), 0u);
  }
}

TEST(DeviceBudget, IsRefusedBeforeAnyWorkWithTheLeastThatCanBe) {
  const Machine machine;
  GenerateRequest request = request_of("sd15/text2image", {{"device_memory_budget", "1kB"}});
  const Proposal proposal = machine.engine->check(request);
  ASSERT_EQ(proposal.errors.size(), 1u);
  EXPECT_EQ(proposal.errors[0].field, "config.device_memory_budget");
  EXPECT_THAT(proposal.errors[0].message, HasSubstr("of the device at the least"));
  EXPECT_EQ(machine.device->allocations(), 0u);
  request.config["device_memory_budget"] =
      std::to_string(proposal.memory_plan.value().predicted_peak_bytes);
  EXPECT_TRUE(machine.engine->check(request).ok());
}

TEST(DeviceBudget, HasTheProcessesBesideIt) {
  const Machine machine;
  const Json both = {{"device_memory_budget", "8GB"}, {"memory_budget", "1MB"}};
  const Proposal proposal = machine.engine->check(request_of("sd15/text2image", both));
  ASSERT_EQ(proposal.errors.size(), 1u);
  EXPECT_EQ(proposal.errors[0].field, "config.memory_budget");
  EXPECT_THAT(proposal.errors[0].message, HasSubstr("next to its device"));
  const MemoryPlanReport plan =
      machine.plan(request_of("sd15/text2image", {{"memory_budget", "8GB"}}));
  EXPECT_EQ(plan.process.value().budget_bytes, uint64_t{8'000'000'000});
  EXPECT_FALSE(plan.budget_bytes);
}

TEST(DeviceBudget, IsRefusedByNameWhereItMeansNothing) {
  auto refusal = [](Engine& engine, GenerateRequest request) {
    const Proposal proposal = engine.check(request);
    return proposal.errors.empty() ? "" : proposal.errors[0].message;
  };
  GenerateRequest request = request_of("sd15/text2image", {{"device_memory_budget", "8GB"}});
  EXPECT_THAT(refusal(engine(), request), HasSubstr("does not plan its memory"));
  request.backend = "cpu";
  EXPECT_THAT(refusal(engine(), request), HasSubstr("backend cpu has no memory of a device"));
  const Machine machine;
  request.backend = "cpu-stub";
  request.config["level"] = "eager";
  EXPECT_THAT(refusal(*machine.engine, request), HasSubstr("level eager"));
  request.config.erase("level");
  request.config["device_memory_budget"] = "lots";
  EXPECT_THAT(refusal(*machine.engine, request), HasSubstr("not a size of memory"));
  request.config["device_memory_budget"] = "8GB";
  request.config["prefetch_groups"] = 2;
  const Proposal without_groups = machine.engine->check(request);
  EXPECT_TRUE(std::ranges::any_of(without_groups.warnings, [](const Finding& each) {
    return each.field == "config.prefetch_groups";
  }));
  request.config.erase("prefetch_groups");
  request.config["storage_dtype"] = "bf16";
  EXPECT_THAT(refusal(*machine.engine, request), HasSubstr("does not go with backend cpu-stub"));
}

TEST(DeviceBudget, SettlesOnTilesOfTheAutoencoderWhereNothingElseFits) {
  GenerateRequest request;
  request.model = source_path("models/emoji").string();
  request.backend = "cpu-stub";
  request.inputs["prompt"] = "red apple";
  request.config = {{"width", 384}, {"height", 384}, {"seed", 1}, {"num_inference_steps", 1}};
  const Machine machine;
  auto least = [&](bool tiles) {
    GenerateRequest asked = request;
    asked.config.update({{"device_memory_budget", "1kB"}});
    if (!tiles) asked.config["vae_tiling"] = false;
    return machine.plan(asked).predicted_peak_bytes;
  };
  const uint64_t tiled = least(true), whole = least(false);
  ASSERT_LT(tiled, whole);
  request.config["device_memory_budget"] = std::to_string((tiled + whole) / 2);
  const Outcome made = machine.run(request);
  EXPECT_TRUE(made.report.config_resolved.find("vae_tiling")->value.get<bool>());
  EXPECT_LE(machine.device->account().memory().peak_bytes, (tiled + whole) / 2);
}

TEST(DeviceNeighbour, ThatTakesMemoryLeadsToAnotherPlan) {
  const GenerateRequest request = request_of("sd15/text2image");
  const Outcome resident = Machine().run(request);
  const auto whole = static_cast<int64_t>(*resident.report.memory.tensor_peak_bytes);
  const Machine machine({.bytes = 4 * whole});
  EXPECT_FALSE(machine.run(request).report.memory.plan);
  machine.device->neighbour_takes(static_cast<uint64_t>(3 * whole + whole / 4));
  const Outcome crowded = machine.run(request);
  expect_equal(crowded, resident);
  EXPECT_FALSE(crowded.report.memory.plan.value().device.empty());
  EXPECT_EQ(memory_fallbacks(crowded.report), 0u);
  EXPECT_FALSE(std::ranges::all_of(
      crowded.report.memory.plan->components,
      [](const PlannedComponentReport& each) { return each.offload == Offload::none; }));
  // A budget that the neighbour leaves no room for is kept to what is there.
  const Outcome asked = machine.run(
      request_of("sd15/text2image", {{"device_memory_budget", std::to_string(2 * whole)}}));
  expect_equal(asked, resident);
  EXPECT_EQ(memory_fallbacks(asked.report), 0u);
  machine.device->neighbour_takes(0);
  EXPECT_FALSE(machine.run(request).report.memory.plan);
}

// One that comes while the run computes finds it unprepared: it holds less, and finishes.
TEST(DeviceNeighbour, ThatTakesMemoryDuringARunIsMadeRoomFor) {
  const GenerateRequest request = request_of("sd15/text2image");
  const Outcome resident = Machine().run(request);
  const uint64_t whole = *resident.report.memory.tensor_peak_bytes;
  const Machine machine({.bytes = static_cast<int64_t>(2 * whole)});
  RunHooks hooks;
  hooks.on_step = [&](const LoopProgress&, const Tensor&) {
    machine.device->neighbour_takes(whole + whole / 2);
  };
  const TemporaryFolder folder;
  GenerateRequest written = request;
  written.config["output"] = folder.file("a.png");
  RunReport report;
  machine.engine->run(written, {}, hooks, report);
  EXPECT_GT(memory_fallbacks(report), 0u);
  EXPECT_EQ(report.artifacts.size(), 1u);
}

// Wherever memory is not there for once: the run ends with OutOfMemory or with its image, and the
// next one has it.
TEST(DeviceOutOfMemory, AtAnyAllocationEndsInAnErrorOrTheSameImage) {
  const GenerateRequest request = request_of("sd15/text2image", {{"num_inference_steps", 1}});
  const Machine undisturbed;
  const Outcome resident = undisturbed.run(request);
  const auto all = static_cast<int64_t>(undisturbed.device->allocations());
  int recovered = 0;
  for (int64_t number = 1; number <= all; number += 1 + number / 12) {
    const Machine machine({.fail_at = {number}});
    SCOPED_TRACE(number);
    try {
      const Outcome outcome = machine.run(request);
      expect_equal(outcome, resident);
      EXPECT_EQ(memory_fallbacks(outcome.report), 1u);
      ++recovered;
    } catch (const OutOfMemory&) {
    }
    expect_equal(machine.run(request), resident);
  }
  EXPECT_GT(recovered, 10);
}

TEST(DeviceOutOfMemory, ThatLastsEndsInAnErrorThatSaysSoAndTheProcessLivesOn) {
  const GenerateRequest request = request_of("sd15/text2image", {{"num_inference_steps", 1}});
  for (const int64_t number : {1, 50, 400}) {
    const Machine machine({.fail_from = number});
    RunReport report;
    try {
      machine.run(request);
      ADD_FAILURE() << "ran without memory from allocation " << number;
    } catch (const OutOfMemory& error) {
      EXPECT_THAT(error.what(), HasSubstr("fails as scripted"));
    }
    EXPECT_THROW(machine.run(request), OutOfMemory);
  }
  EXPECT_FALSE(Machine().run(request).report.artifacts.empty());
}

// A budget below what the plan can know is kept all the same: the allocator's limit holds, and
// calls are made again with less.
TEST(DeviceOutOfMemory, UnderStreamedWeightsIsRelievedToo) {
  const GenerateRequest request =
      request_of("sd15/text2image", {{"num_inference_steps", 1}, {"offload", "leaf"}});
  const Machine undisturbed;
  const Outcome streamed = undisturbed.run(request);
  const auto all = static_cast<int64_t>(undisturbed.device->allocations());
  for (int64_t number = 2; number <= all; number += 1 + all / 12) {
    const Machine machine({.fail_at = {number}});
    SCOPED_TRACE(number);
    expect_equal(machine.run(request), streamed);
    expect_equal(machine.run(request), streamed);
  }
}

}  // namespace
}  // namespace omnirt::testing
