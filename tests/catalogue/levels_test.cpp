// Levels of a whole run: forcing and requiring them, failures at each, and what the report says of
// it. The cpu-stub computes by the references, so a run that fell back makes the very same bits.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/stub/stub_backend.hpp"
#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {
using ::testing::HasSubstr;

GenerateRequest emoji(int64_t steps = 3) {
  GenerateRequest request;
  request.model = "emoji-sd";
  request.backend = "cpu-stub";
  request.inputs["prompt"] = "a red apple";
  request.config = {{"seed", 3}, {"num_inference_steps", steps}};
  return request;
}

// An engine whose cpu-stub follows `script`.
std::unique_ptr<Engine> scripted(const StubScript& script) {
  Catalogue catalogue = builtin_catalogue();
  for (BackendInfo& info : catalogue.backends) {
    if (info.name == "cpu-stub")
      info.make = [script](int) { return std::make_unique<StubBackend>(script); };
  }
  return std::make_unique<Engine>(std::move(catalogue));
}

StubScript failing(StubScript::Failure failure) {
  StubScript script;
  script.fail.push_back(std::move(failure));
  return script;
}

const TimelineReport& timeline(const RunReport& report, const std::string& component) {
  for (const TimelineReport& entry : report.backend_timeline) {
    if (entry.component == component) return entry;
  }
  throw InternalError("no timeline of " + component);
}

// "compile:failed kernel_override:ok*": the attempts, the selected one starred.
std::string told(const TimelineReport& entry) {
  std::string text;
  for (const AttemptReport& attempt : entry.attempts) {
    text += (text.empty() ? "" : " ") + attempt.level + (attempt.ok ? ":ok" : ":failed") +
            (attempt.selected ? "*" : "");
  }
  return text;
}

std::string counts(const RunReport& report) {
  std::string text;
  for (const FallbackReport& each : report.fallbacks) {
    text += fmt::format("{}/{}/{}={}/{} ", each.component, each.level, each.kind, each.count,
                        each.total);
  }
  return text;
}

Tensor undisturbed_picture() {
  static const Tensor picture = run_on(*scripted({}), emoji()).image;
  return picture;
}

TEST(Levels, TheStubGivesTheImageOfTheCpusReferencesBitByBit) {
  GenerateRequest cpu = emoji();
  cpu.backend = "cpu";
  cpu.config["level"] = "eager";
  EXPECT_TRUE(undisturbed_picture().equal(run(cpu).image));
}

TEST(Levels, ARunTakesTheFastestLevelThatWorks) {
  RunReport report = run_on(*scripted({}), emoji()).report;
  for (const TimelineReport& entry : report.backend_timeline) EXPECT_EQ(told(entry), "compile:ok*");
  EXPECT_EQ(counts(report), "");
}

TEST(Levels, ARefusalIsToldWithItsReasonAndCountedOnWarmRunsToo) {
  StubScript script;
  script.refuse = {{Level::compile, "no compiler here"}};
  auto engine = scripted(script);
  for (uint64_t warm : {1, 2}) {
    RunReport report = run_on(*engine, emoji()).report;
    for (const TimelineReport& entry : report.backend_timeline) {
      EXPECT_EQ(told(entry), "compile:failed kernel_override:ok*");
      EXPECT_THAT(entry.attempts[0].reason, HasSubstr("no compiler here"));
    }
    EXPECT_THAT(counts(report), HasSubstr(fmt::format("unet/compile/refused=1/{} ", warm)));
  }
}

TEST(Levels, ACallThatFailsAtALaterStepIsMadeAgainAtTheNextLevelAndTheRunFinishes) {
  auto engine = scripted(failing({.component = "unet", .call = 2, .message = "graph broke"}));
  Outcome outcome = run_on(*engine, emoji());
  EXPECT_TRUE(outcome.image.equal(undisturbed_picture()));
  const TimelineReport& unet = timeline(outcome.report, "unet");
  EXPECT_EQ(told(unet), "compile:ok compile:failed kernel_override:ok*");
  EXPECT_THAT(unet.attempts[1].reason, HasSubstr("call 2"));
  EXPECT_THAT(unet.attempts[1].reason, HasSubstr("graph broke"));
  EXPECT_EQ(told(timeline(outcome.report, "vae")), "compile:ok*");
  EXPECT_EQ(counts(outcome.report), "unet/compile/call=1/1 ");
}

TEST(Levels, ARunFallsThroughEveryLevelWhereEachFails) {
  StubScript script = failing({.level = "compile"});
  script.fail.push_back({.level = "kernel_override"});
  Outcome outcome = run_on(*scripted(script), emoji());
  EXPECT_TRUE(outcome.image.equal(undisturbed_picture()));
  for (const TimelineReport& entry : outcome.report.backend_timeline) {
    EXPECT_EQ(told(entry),
              "compile:ok compile:failed kernel_override:ok kernel_override:failed "
              "eager:ok*");
  }
}

TEST(Levels, AKernelThatFailsAtAShapeIsPassedOverCountedAndToldOnce) {
  auto engine = scripted(failing({.op = "attention", .message = "bad shape"}));
  Outcome outcome = run_on(*engine, emoji());
  EXPECT_TRUE(outcome.image.equal(undisturbed_picture()));
  const TimelineReport& unet = timeline(outcome.report, "unet");
  EXPECT_EQ(told(unet), "compile:ok* compile:failed");
  EXPECT_THAT(unet.attempts[1].reason, HasSubstr("kernel stub of op attention was passed over"));
  EXPECT_THAT(unet.attempts[1].reason, HasSubstr("bad shape"));
  ASSERT_FALSE(outcome.report.fallbacks.empty());
  for (const FallbackReport& each : outcome.report.fallbacks) {
    EXPECT_EQ(each.kind, "kernel");
    EXPECT_GT(each.count, 1u);
  }
}

TEST(Levels, WhatAnImageToImageRunDrewIsNotDrawnAgainWhenItsEncodingIsMadeAgain) {
  GenerateRequest request =
      folder_request(source_path("tests/goldens/pipelines/sd15/image2image_n2"));
  request.backend = "cpu-stub";
  auto engine = scripted(failing({.component = "vae"}));
  EXPECT_TRUE(run_on(*engine, request).image.equal(run_on(*scripted({}), request).image));
}

TEST(Levels, AForcedLevelIsTheOnlyOneTried) {
  GenerateRequest request = emoji();
  for (const char* level : {"eager", "kernel_override", "compile"}) {
    request.config["level"] = level;
    RunReport report = run_on(*scripted({}), request).report;
    EXPECT_EQ(told(timeline(report, "unet")), std::string(level) + ":ok*");
  }
}

// The report of a run that must end in RunFailed.
RunReport failed(Engine& engine, const GenerateRequest& request) {
  RunReport report;
  try {
    engine.run(request, {}, {}, report);
    ADD_FAILURE() << "the run went through";
  } catch (const RunFailed& error) {
    EXPECT_EQ(error.exit_code(), 3);
  }
  return report;
}

TEST(Levels, ARequiredLevelThatIsRefusedEndsTheRunBeforeAnyWeightIsRead) {
  StubScript script;
  script.refuse = {{Level::compile, "no compiler here"}};
  auto engine = scripted(script);
  GenerateRequest request = emoji();
  request.config["require_level"] = "compile";
  RunReport report = failed(*engine, request);
  EXPECT_THAT(report.error->message, HasSubstr("no compiler here"));
  EXPECT_EQ(told(timeline(report, "unet")), "compile:failed");
  EXPECT_EQ(report.memory.weights_converted_bytes, 0u);
  Proposal checked = engine->check(request);
  ASSERT_EQ(checked.errors.size(), 1u);
  EXPECT_EQ(checked.errors[0].field, "config.require_level");
}

TEST(Levels, ARequiredLevelThatFailsLaterEndsTheRunWithTheReason) {
  GenerateRequest request = emoji();
  request.config["require_level"] = "compile";
  RunReport report = failed(
      *scripted(failing({.component = "unet", .call = 2, .message = "graph broke"})), request);
  EXPECT_THAT(report.error->message, HasSubstr("graph broke"));
  EXPECT_THAT(report.error->message, HasSubstr("unet"));
  EXPECT_EQ(told(timeline(report, "unet")), "compile:ok compile:failed");
}

TEST(Levels, ARequiredLevelAllowsAFallToItAndNoFurther) {
  GenerateRequest request = emoji();
  request.config["require_level"] = "kernel_override";
  auto once = scripted(failing({.component = "unet"}));
  EXPECT_EQ(told(timeline(run_on(*once, request).report, "unet")),
            "compile:ok compile:failed kernel_override:ok*");
  StubScript script = failing({.component = "unet"});
  script.fail.push_back({.level = "kernel_override", .component = "unet"});
  failed(*scripted(script), request);
}

TEST(Levels, AKernelMayNotBePassedOverWhereItsLevelIsRequired) {
  GenerateRequest request = emoji();
  request.config["level"] = "compile";
  RunReport report = failed(*scripted(failing({.op = "attention"})), request);
  EXPECT_THAT(report.error->message, HasSubstr("kernel stub of attention failed"));
}

TEST(Levels, ALevelBelowTheRequiredOneIsABadRequest) {
  GenerateRequest request = emoji();
  request.config.update({{"level", "eager"}, {"require_level", "compile"}});
  Proposal checked = engine().check(request);
  ASSERT_EQ(checked.errors.size(), 1u);
  EXPECT_EQ(checked.errors[0].field, "config.require_level");
}

TEST(Levels, ACancelledRunIsNotTriedAtAnotherLevel) {
  auto engine = scripted({});
  CancelToken cancel;
  RunHooks hooks;
  hooks.cancel = &cancel;
  hooks.on_step = [&](const LoopProgress&, const Tensor&) { cancel.cancel(); };
  RunReport report;
  EXPECT_THROW(engine->run(emoji(), {}, hooks, report), Cancelled);
  EXPECT_EQ(told(timeline(report, "unet")), "compile:ok*");
  EXPECT_TRUE(report.fallbacks.empty());
}

TEST(Levels, TheReportsMemoryFiguresAreTheBackends) {
  StubScript script;
  script.memory = {.peak_bytes = 123, .allocated_bytes = 45};
  RunReport report = run_on(*scripted(script), emoji(1)).report;
  EXPECT_EQ(report.memory.tensor_peak_bytes, 123u);
  EXPECT_EQ(report.memory.tensor_current_bytes, 45u);
}

TEST(Resolve, AutoTellsWhyItPassedOthersOverAndNeverTakesTheStub) {
  for (const BackendInfo& info : builtin_catalogue().backends)
    EXPECT_EQ(info.automatic, info.name != "cpu-stub");
  RunReport report;
  GenerateRequest request = emoji(1);
  request.backend = "auto";
  report = run(request).report;
  EXPECT_NE(report.backend, "cpu-stub");
  for (const PassedOverReport& each : report.backends_passed_over)
    EXPECT_FALSE(each.reason.empty()) << each.name;
}

TEST(Resolve, ABackendThatIsNotAvailableIsRefusedWithItsReason) {
  StubScript script{.available = false, .reason = "the driver is missing"};
  Proposal checked = scripted(script)->check(emoji());
  ASSERT_EQ(checked.errors.size(), 1u);
  EXPECT_EQ(checked.errors[0].field, "backend");
  EXPECT_THAT(checked.errors[0].message, HasSubstr("the driver is missing"));
  EXPECT_FALSE(checked.errors[0].way_out.empty());
}

}  // namespace
}  // namespace omnirt::testing
