// Calls of several runs in one turn: what joins, what each is given, and what happens where they
// cannot be computed together.
#include "runtime/joined_call.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/backend.hpp"

namespace omnirt {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TestBackend final : public Backend {
 public:
  std::string name() const override { return "test"; }
  at::Device device() const override { return at::kCPU; }
  Availability is_available() const noexcept override { return {true, "", ""}; }
  Capabilities capabilities() const override { return {}; }
  LevelPlan compile(const std::string&, const std::string&, const PlanFacts&) override {
    return {nullptr, {}, std::make_shared<Runner>(), ""};
  }
  void reset_memory_stats() override {}
  MemoryStats memory_stats() const override { return {}; }
  double available_memory_gb() const override { return 1; }

 private:
  struct Runner final : CallRunner {
    Values run(Context& cx, const ComponentCall& call, const Values& inputs) override {
      return call.run(cx, inputs);
    }
  };
};

// A component that several runs have.
struct Component {
  TestBackend backend;
  FallbackCounter counter;
  std::shared_ptr<WrappedComponent> wrapped = backend.wrap_module("net", "Net");
  std::shared_ptr<const Binding> weights =
      std::make_shared<const Binding>(std::vector<std::shared_ptr<const Weight>>{}, ComputeForm{});

  ComponentRun run(LevelPolicy policy = {}) {
    return {
        wrapped, [this](const ComputeForm&, bool) { return weights; }, {"net", policy, &counter}};
  }
};

struct Asked {
  Values inputs;
  size_t rows = 1;
  size_t joins_up_to = 16;
  std::string variant{};
  LevelPolicy policy{};
  bool cancelled = false;
};

struct Made {
  std::optional<Tensor> y;
  size_t runs = 0;
  std::string error{};
  std::string timeline{};
};

Values x_of(const Tensor& x) {
  return {{"x", {x}}};
}

// Each `asked` as the call of a run of its own, all in one turn. `body` gives y of x.
std::vector<Made> in_one_turn(Component& component, const std::vector<Asked>& asked,
                              const std::function<Tensor(const Tensor& x)>& body) {
  SharedTurn turn(asked.size());
  std::vector<Made> made(asked.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < asked.size(); ++i) {
    threads.emplace_back([&, i] {
      ComponentRun run = component.run(asked[i].policy);
      const ComponentCall call{
          .variant = asked[i].variant,
          .body =
              [&](Context&, const Values& in) {
                const Value& x = in.at("x").front();
                return result(body(x.rows().empty()
                                       ? x.tensor()
                                       : x.tensor().index_select(0, at::tensor(x.rows()))));
              },
          .rows = RowIds(asked[i].rows),
          .joins_up_to = asked[i].joins_up_to};
      CancelToken cancel;
      if (asked[i].cancelled) cancel.cancel();
      JoinedCall joined(run, call, asked[i].inputs, &cancel);
      try {
        made[i].y = one(joined.made(turn));
      } catch (const std::exception& error) {
        made[i].error = error.what();
      }
      made[i].runs = joined.runs();
      for (const Attempt& attempt : run.timeline().attempts)
        made[i].timeline += attempt.reason + "\n";
      turn.leave();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return made;
}

std::vector<size_t> runs_of(const std::vector<Made>& made) {
  std::vector<size_t> runs;
  for (const Made& each : made) runs.push_back(each.runs);
  return runs;
}

Tensor doubled(const Tensor& x) {
  return x + x;
}

Tensor numbers(int64_t rows, int64_t from, int64_t width = 3) {
  return at::arange(from, from + rows * width, at::kFloat).view({rows, width});
}

TEST(JoinedCall, EachRunIsGivenTheRowsOfItsOwn) {
  Component component;
  auto made = in_one_turn(component, {{x_of(numbers(1, 0))}, {x_of(numbers(2, 10)), 2}}, doubled);
  EXPECT_THAT(runs_of(made), ElementsAre(2, 2));
  EXPECT_TRUE(made[0].y->equal(doubled(numbers(1, 0))));
  EXPECT_TRUE(made[1].y->equal(doubled(numbers(2, 10))));
}

TEST(JoinedCall, RowsThatABatchHoldsOnceAreFoundAgain) {
  Component component;
  const Values twice{{"x", {Value(numbers(1, 5)).with_rows({0, 0})}}};
  const Values turned{{"x", {Value(numbers(2, 20)).with_rows({1, 0})}}};
  auto made = in_one_turn(component, {{twice, 2}, {x_of(numbers(1, 9))}, {turned, 2}}, doubled);
  EXPECT_THAT(runs_of(made), ElementsAre(3, 3, 3));
  EXPECT_TRUE(made[0].y->equal(doubled(at::cat({numbers(1, 5), numbers(1, 5)}))));
  EXPECT_TRUE(made[1].y->equal(doubled(numbers(1, 9))));
  EXPECT_TRUE(made[2].y->equal(doubled(numbers(2, 20).flip(0))));
}

TEST(JoinedCall, OnlyRowsOfTheSameWorkJoin) {
  Component component;
  auto made = in_one_turn(
      component,
      {{x_of(numbers(1, 0))},
       {x_of(numbers(1, 0, 4))},                            // another size
       {x_of(numbers(1, 0).to(at::kDouble))},               // another type
       {{{"z", {numbers(1, 0)}}, {"x", {numbers(1, 0)}}}},  // another input
       {.inputs = x_of(numbers(1, 0)), .variant = "other"},
       {.inputs = x_of(numbers(1, 0)), .policy = {.only = Level::eager, .required = {}}},
       {.inputs = x_of(numbers(1, 0)), .policy = {.only = {}, .required = Level::compile}},
       {.inputs = x_of(numbers(1, 0)), .joins_up_to = 0},
       {.inputs = x_of(numbers(2, 0)), .rows = 1}},  // not a row per row
      doubled);
  for (const Made& each : made) {
    EXPECT_EQ(each.runs, 1u);
    EXPECT_TRUE(each.y.has_value()) << each.error;
  }
}

TEST(JoinedCall, ABatchIsNoLargerThanItsRunsAllow) {
  Component component;
  const Asked one{.inputs = x_of(numbers(1, 0)), .joins_up_to = 3};
  auto made = in_one_turn(component, {one, one, one, one, one}, doubled);
  std::vector<size_t> runs = runs_of(made);
  std::ranges::sort(runs);
  EXPECT_THAT(runs, ElementsAre(2, 2, 3, 3, 3));
}

TEST(JoinedCall, WhatCannotBeComputedTogetherIsComputedApart) {
  Component component;
  auto in_small = [](const Tensor& x) {
    if (x.size(0) > 1) throw std::bad_alloc();
    return doubled(x);
  };
  auto made = in_one_turn(component, {{x_of(numbers(1, 0))}, {x_of(numbers(1, 6))}}, in_small);
  EXPECT_THAT(runs_of(made), ElementsAre(1, 1));
  EXPECT_TRUE(made[0].y->equal(doubled(numbers(1, 0))));
  EXPECT_TRUE(made[1].y->equal(doubled(numbers(1, 6))));
  EXPECT_THAT(made[0].timeline + made[1].timeline, HasSubstr("a call for 2 runs: "));
  EXPECT_EQ(component.counter.count("net", Level::compile, FallbackKind::memory), 1u);
}

TEST(JoinedCall, ARunThatFailsFailsAlone) {
  Component component;
  auto without_sevens = [](const Tensor& x) {
    if (x.eq(7).any().item<bool>()) throw RunFailed("a seven");
    return doubled(x);
  };
  auto made =
      in_one_turn(component, {{x_of(numbers(1, 0))}, {x_of(numbers(1, 6))}}, without_sevens);
  EXPECT_TRUE(made[0].y->equal(doubled(numbers(1, 0))));
  EXPECT_THAT(made[1].error, HasSubstr("a seven"));
}

TEST(JoinedCall, ACancelledRunLeavesTheOthersAlone) {
  Component component;
  auto made = in_one_turn(
      component,
      {{.inputs = x_of(numbers(1, 0)), .cancelled = true}, {.inputs = x_of(numbers(1, 6))}},
      doubled);
  EXPECT_THAT(made[0].error, HasSubstr("cancelled"));
  EXPECT_TRUE(made[1].y->equal(doubled(numbers(1, 6))));
}

}  // namespace
}  // namespace omnirt
