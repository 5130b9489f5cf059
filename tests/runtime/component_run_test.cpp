// The levels' one place: what is tried, what falls, and what passes through.
#include "runtime/component_run.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>

#include "runtime/resolve.hpp"

namespace omnirt {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A device of this test: compile wants bf16 weights, and `at_compile` runs before each call
// there.
class TestBackend final : public Backend {
 public:
  std::string name() const override { return "test"; }
  at::Device device() const override { return at::kCPU; }
  Availability is_available() const noexcept override { return {available, "as told", "tell it"}; }
  Capabilities capabilities() const override { return {}; }
  LevelPlan compile(const std::string&, const std::string&, const PlanFacts&) override {
    ++compiled;
    if (refuse) throw Unsupported({"compile", "", "no compiler", ""});
    if (cancelled) throw Cancelled("the run was cancelled");
    return {nullptr, {at::kBFloat16}, std::make_shared<Runner>(*this), ""};
  }
  void reset_memory_stats() override {}
  MemoryStats memory_stats() const override { return {}; }
  double available_memory_gb() const override { return 1; }

  bool available = true;
  bool refuse = false, cancelled = false;
  int compiled = 0;
  std::function<void()> at_compile = [] {};

 private:
  struct Runner final : CallRunner {
    explicit Runner(TestBackend& owner) : backend(owner) {}
    Values run(Context& cx, const ComponentCall& call, const Values& inputs) override {
      Values y = call.run(cx, inputs);
      backend.at_compile();
      return y;
    }
    TestBackend& backend;
  };
};

struct Fixture {
  TestBackend backend;
  FallbackCounter total, counter{&total};
  std::vector<at::ScalarType> leased;
  std::shared_ptr<WrappedComponent> wrapped = backend.wrap_module("net", "Net");

  ComponentRun run(LevelPolicy policy = {}) {
    auto lease = [this](const ComputeForm& form, bool) {
      leased.push_back(form.dtype);
      return std::make_shared<const Binding>(std::vector<std::shared_ptr<const Weight>>{}, form);
    };
    return {wrapped, lease, {"net", policy, &counter}};
  }
};

// Doubles x, keeping count in the run's state.
ComponentCall doubling(int* calls = nullptr) {
  static const Value counted(at::ones({}), Life::run);
  return {"", [calls](Context& cx, const Values& in) {
            if (calls) ++*calls;
            const Tensor* before = cx.state()->find("site", counted.id());
            Tensor now = before ? *before + 1 : at::ones({});
            cx.state()->keep("site", counted.id(), counted.alive(), now);
            const Tensor& x = one(in, "x");
            return result(cx.segment("block", [&] { return cx.ops().add(cx, {x, x}); }) * now);
          }};
}

const Values ones{{"x", {at::ones({2})}}};

std::vector<std::string> levels(const ComponentRun& run) {
  std::vector<std::string> all;
  for (const Attempt& attempt : run.timeline().attempts)
    all.push_back(attempt.level + (attempt.ok ? "+" : "-") + (attempt.selected ? "*" : ""));
  return all;
}

TEST(ComponentRun, TakesTheFirstLevelThatWorksAndStopsThere) {
  Fixture f;
  EXPECT_THAT(levels(f.run()), ElementsAre("compile+*"));
  f.wrapped = f.backend.wrap_module("net", "Net");
  f.backend.refuse = true;
  EXPECT_THAT(levels(f.run()), ElementsAre("compile-", "kernel_override-", "eager+*"));
}

TEST(ComponentRun, TriesALevelOnceAndTellsTheOutcomeToEveryRun) {
  Fixture f;
  f.backend.refuse = true;
  auto first = f.run(), second = f.run();
  EXPECT_EQ(f.backend.compiled, 1);
  ASSERT_EQ(second.timeline().attempts.size(), 3u);
  EXPECT_EQ(first.timeline().attempts[0].ms, second.timeline().attempts[0].ms);
  EXPECT_THAT(second.timeline().attempts[0].reason, HasSubstr("no compiler"));
}

TEST(ComponentRun, LeasesTheWeightsInTheLevelsOwnForm) {
  Fixture f;
  f.backend.at_compile = [] { throw std::runtime_error("broke"); };
  auto run = f.run();
  run.call(doubling(), ones);
  EXPECT_THAT(f.leased, ElementsAre(at::kBFloat16, at::kFloat));
}

TEST(ComponentRun, MakesAFailedCallAgainWithoutWhatItKept) {
  Fixture f;
  f.backend.at_compile = [&] {
    if (f.leased.size() == 2) throw std::runtime_error("broke");
  };
  auto run = f.run();
  int calls = 0;
  EXPECT_EQ(host(run.call(doubling(&calls), ones)).sum().item<float>(), 4);
  // The second call fails after it kept a 2; made again, it begins with nothing kept.
  EXPECT_EQ(host(run.call(doubling(&calls), ones)).sum().item<float>(), 4);
  EXPECT_EQ(host(run.call(doubling(&calls), ones)).sum().item<float>(), 8);
  EXPECT_EQ(calls, 4);
  EXPECT_THAT(levels(run), ElementsAre("compile+", "compile-", "kernel_override-", "eager+*"));
}

TEST(ComponentRun, NamesTheCallTheOpAndTheSiteOfAFailure) {
  Fixture f;
  f.backend.at_compile = [] { throw std::runtime_error("broke"); };
  auto run = f.run();
  run.call(doubling(), ones);
  EXPECT_EQ(run.timeline().attempts[1].reason, "call 1, op add at block: broke");
}

TEST(ComponentRun, CountsARefusalAFailedCallAndAKernelApart) {
  Fixture f;
  f.backend.register_override(
      "Net", {"add", [](ops::OpTable& table) {
                table.add.add({"broken add", [](const ops::Add&) { return true; },
                               [](const ops::Add&) -> Tensor { throw std::runtime_error("odd"); }});
              }});
  f.backend.refuse = true;
  auto run = f.run();
  for (int i = 0; i < 3; ++i) run.call(doubling(), ones);
  EXPECT_EQ(f.total.count("net", Level::compile, FallbackKind::refused), 1u);
  EXPECT_EQ(f.total.count("net", Level::kernel_override, FallbackKind::kernel), 3u);
  EXPECT_EQ(f.counter.all().size(), 2u);
  // Reported once, however often it failed.
  EXPECT_THAT(levels(run), ElementsAre("compile-", "kernel_override+*", "kernel_override-"));
  EXPECT_EQ(run.timeline().attempts[2].reason,
            "kernel broken add of op add was passed over, call 1 at block: odd");
}

template <class Thrown>
void expect_to_pass(const Thrown& thrown) {
  Fixture f;
  f.backend.at_compile = [&] { throw thrown; };
  auto run = f.run();
  EXPECT_THROW(run.call(doubling(), ones), Thrown);
  EXPECT_THAT(levels(run), ElementsAre("compile+*"));
  EXPECT_TRUE(f.total.all().empty());
}

TEST(ComponentRun, LetsCancellationBadRequestsAndExhaustedMemoryPass) {
  expect_to_pass(Cancelled("stop"));
  expect_to_pass(InvalidRequest({"x", "", "bad", ""}));
  expect_to_pass(OutOfMemory("full"));
  expect_to_pass(std::bad_alloc());
}

TEST(ComponentRun, AKernelThatStopsForACancelledRunHasNotFailed) {
  Fixture f;
  CancelToken token;
  f.backend.register_override(
      Backend::every_tag, {"add", [&](ops::OpTable& table) {
                             table.add.add({"stopping add", [](const ops::Add&) { return true; },
                                            [&](const ops::Add&) -> Tensor {
                                              token.cancel();
                                              throw Cancelled("the run was cancelled");
                                            }});
                           }});
  f.backend.refuse = true;
  auto run = f.run();
  EXPECT_THROW(run.call(doubling(), ones, &token), Cancelled);
  EXPECT_EQ(f.total.count("net", Level::kernel_override, FallbackKind::kernel), 0u);
}

TEST(ComponentRun, ARunThatIsCancelledWhileALevelIsMadeLeavesItToTheNext) {
  Fixture f;
  f.backend.cancelled = true;
  EXPECT_THROW(f.run(), Cancelled);
  f.backend.cancelled = false;
  EXPECT_THAT(levels(f.run()), ElementsAre("compile+*"));
}

TEST(ComponentRun, EagersOwnFailureIsTheRunsInItsOwnWords) {
  Fixture f;
  auto run = f.run({.only = Level::eager, .required = {}});
  ComponentCall call = doubling();
  call.body = [](Context&, const Values&) -> Values { throw std::runtime_error("as it is"); };
  EXPECT_THROW(run.call(call, ones), std::runtime_error);
}

TEST(ComponentRun, KeepsToTheLevelThatIsForcedOrRequired) {
  Fixture f;
  f.backend.at_compile = [] { throw std::runtime_error("broke"); };
  for (LevelPolicy policy : {LevelPolicy{.only = Level::compile, .required = {}},
                             LevelPolicy{.only = {}, .required = Level::compile}}) {
    auto run = f.run(policy);
    run.check();
    EXPECT_THROW(run.call(doubling(), ones), RunFailed);
    EXPECT_THROW(run.call(doubling(), ones), RunFailed);
  }
  auto none = f.run({.only = Level::kernel_override, .required = {}});
  EXPECT_FALSE(none.plan());
  EXPECT_THROW(none.check(), RunFailed);
}

// Such a call is made again with less of the device held; another error is the level's failure.
TEST(Levels, TellExhaustedMemoryFromOtherErrorsOfADevice) {
  auto error = [](const char* text) { return c10::Error({__func__, __FILE__, __LINE__}, text); };
  for (const char* text :
       {"CUDA error: out of memory\nCUDA kernel errors might be reported later",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED", "not enough memory: you tried to allocate 8GB"})
    EXPECT_TRUE(is_out_of_memory(error(text))) << text;
  EXPECT_FALSE(is_out_of_memory(error("CUDA error: misaligned address")));
  EXPECT_FALSE(is_out_of_memory(std::runtime_error("CUDA error: out of memory")));
}

TEST(LevelPolicy, AllowsWhatIsForcedOrFastEnough) {
  LevelPolicy any, forced{.only = Level::kernel_override, .required = {}},
      required{.only = {}, .required = Level::kernel_override};
  for (Level level : all_levels) EXPECT_TRUE(any.allows(level));
  EXPECT_FALSE(forced.allows(Level::compile));
  EXPECT_TRUE(forced.allows(Level::kernel_override));
  EXPECT_TRUE(required.allows(Level::compile));
  EXPECT_FALSE(required.allows(Level::eager));
  EXPECT_FALSE(required.strict(Level::compile));
  EXPECT_TRUE(required.strict(Level::kernel_override));
}

BackendInfo listed(const std::string& name, bool available, bool automatic = true) {
  return {name,
          [available](int) {
            auto backend = std::make_unique<TestBackend>();
            backend->available = available;
            return backend;
          },
          {},
          automatic};
}

BackendInfo not_built(const std::string& name) {
  return {name, {}, {false, "not built in", "build it in"}};
}

TEST(ResolveBackend, AutoTakesTheFirstAvailableAndTellsWhyNotThoseBefore) {
  std::vector<BackendInfo> all{not_built("a"), listed("b", false), listed("c", true, false),
                               listed("d", true), listed("e", true)};
  for (const char* wanted : {"auto", ""}) {
    Resolution found = resolve_device(all, wanted);
    EXPECT_EQ(found.device, (DeviceId{"d", 0}));
    ASSERT_EQ(found.passed_over.size(), 2u);
    EXPECT_EQ(found.passed_over[0].reason, "not built in");
    EXPECT_EQ(found.passed_over[1].reason, "as told");
  }
  EXPECT_EQ(resolve_device(all, "c").device, (DeviceId{"c", 0}));
}

TEST(ResolveBackend, RefusesAnAbsentOneWithWhatIsMissingAndTheWayOut) {
  std::vector<BackendInfo> all{not_built("a"), listed("b", false)};
  for (auto [wanted, missing, way_out] : {std::tuple{"a", "not built in", "build it in"},
                                          {"b", "as told", "tell it"},
                                          {"bb", "no such backend", "'b'"},
                                          {"auto", "a: not built in; b: as told", "name one"}}) {
    try {
      resolve_device(all, wanted);
      ADD_FAILURE() << wanted;
    } catch (const Unsupported& error) {
      EXPECT_EQ(error.findings()[0].field, "backend");
      EXPECT_THAT(error.findings()[0].message, HasSubstr(missing));
      EXPECT_THAT(error.findings()[0].way_out, HasSubstr(way_out));
    }
  }
}

TEST(ResolveBackend, NamesTheOneThatAnotherProgramsWordMeansAndAllThatThereAre) {
  std::vector<BackendInfo> all{listed("cuda", true), listed("cpu", true)};
  const std::string those = "there are auto, cuda, cpu, and `omnirt backends` says which";
  for (auto [wanted, answer] : {std::pair{"gpu", "did you mean 'cuda'? " + those},
                                {"GPU", "did you mean 'cuda'? " + those},
                                {"gpu:1", "did you mean 'cuda'? " + those},
                                {"cuda:1", "give cuda:0"},
                                {"cuda:one", "give a number from 0, as in cuda:0"},
                                {"cpuu", "did you mean 'cpu'? " + those},
                                {"mps", those},
                                {"rocm", those},
                                {"npu", those}}) {
    try {
      resolve_device(all, wanted);
      ADD_FAILURE() << wanted;
    } catch (const Unsupported& error) {
      EXPECT_THAT(error.findings()[0].way_out, StartsWith(answer)) << wanted;
    }
  }
}

}  // namespace
}  // namespace omnirt
