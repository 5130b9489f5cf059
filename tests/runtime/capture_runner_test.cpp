// The rules of capturing and playing back, on a graph that needs no device: the network below gives
// a view of its input, so that the captured output follows whatever is put into the captured input.
#include "runtime/capture_runner.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace omnirt {
namespace {

struct Counts {
  int bodies = 0, captures = 0, replays = 0, alive = 0;
  bool broken = false;
};

class CountingGraph final : public Graph {
 public:
  explicit CountingGraph(Counts& counts) : counts_(counts) { ++counts_.alive; }
  ~CountingGraph() override { --counts_.alive; }
  void capture(const std::function<void()>& work) override {
    work();
    if (counts_.broken) throw std::runtime_error("does not capture");
    ++counts_.captures;
  }
  void replay() override { ++counts_.replays; }

 private:
  Counts& counts_;
};

struct Fixture {
  Counts counts;
  CaptureRunner runner{[this] { return std::make_unique<CountingGraph>(counts); }, /*most=*/2};
  ops::OpTable ops;
  RunState state;
  ComponentCall call{"", [this](Context&, const Values& in) {
                       ++counts.bodies;
                       return result(one(in, "x").view({-1}));
                     }};
  std::shared_ptr<const Binding> binding = fresh_binding();

  static std::shared_ptr<const Binding> fresh_binding() {
    return std::make_shared<const Binding>(std::vector<std::shared_ptr<const Weight>>{},
                                           ComputeForm{});
  }
  Tensor run(const Values& inputs) { return run(inputs, state); }
  Tensor run(const Values& inputs, RunState& kept) {
    Context cx(ops, binding, {.state = &kept});
    return host(runner.run(cx, call, inputs));
  }
  // The flat view of a tensor of n numbers from `start` on.
  Tensor numbers(double start, int64_t n) {
    Tensor x = at::arange(start, start + static_cast<double>(n), at::kFloat).view({n, 1});
    Tensor y = run({{"x", {x}}});
    EXPECT_TRUE(y.equal(x.view({-1})));
    return y;
  }
};

// Adds to x what is made once of the text: its double.
struct KeepingFixture : Fixture {
  int made = 0;
  KeepingFixture() {
    call.body = [this](Context& cx, const Values& in) {
      ++counts.bodies;
      const Tensor& text = one(in, "text");
      seen = cx.once("doubled", text, [&] {
        ++made;
        return text * 2;
      });
      return result(one(in, "x").view({-1}));
    };
  }
  Tensor seen;  // by the body that ran last: after a capture, what the graph reads
};

TEST(CaptureRunner, RunsTheFirstCallCapturesTheSecondAndPlaysBackTheRest) {
  Fixture f;
  f.numbers(0, 3);
  EXPECT_EQ(f.counts.captures, 0);
  Tensor second = f.numbers(10, 3), kept = second.clone();
  f.numbers(20, 3);
  f.numbers(30, 3);
  EXPECT_EQ(f.counts.bodies, 2);
  EXPECT_EQ(f.counts.captures, 1);
  EXPECT_EQ(f.counts.replays, 3);
  EXPECT_TRUE(second.equal(kept)) << "a later call wrote into an earlier result";
}

TEST(CaptureRunner, TellsShapesTypesAndVariantsApart) {
  Fixture f;
  f.numbers(0, 3);
  f.numbers(0, 4);
  f.call.variant = "other";
  f.numbers(0, 3);
  EXPECT_EQ(f.counts.bodies, 3);
  EXPECT_EQ(f.counts.captures, 0);
}

TEST(CaptureRunner, KeepsTheCapturesThatWereUsedLast) {
  Fixture f;
  for (int64_t n : {1, 1, 2, 2, 1, 3, 3}) f.numbers(0, n);
  EXPECT_EQ(f.runner.captures(), 2u);
  int bodies = f.counts.bodies;
  f.numbers(0, 1);
  EXPECT_EQ(f.counts.bodies, bodies) << "the one used before last is still there";
  f.numbers(0, 2);
  EXPECT_EQ(f.counts.bodies, bodies + 1) << "the oldest went";
}

TEST(CaptureRunner, CapturesAnewOverOtherWeights) {
  Fixture f;
  for (int i = 0; i < 3; ++i) f.numbers(i, 3);
  f.binding = Fixture::fresh_binding();
  f.numbers(5, 3);
  EXPECT_EQ(f.counts.bodies, 3);
  EXPECT_EQ(f.counts.alive, 0) << "the capture over the old weights went";
}

TEST(CaptureRunner, ReadsWhatIsMadeOnceARunFromCopiesOfItsOwn) {
  KeepingFixture f;
  Values inputs{{"x", {at::ones({2})}}, {"text", {Value(at::ones({3}), Life::run)}}};
  for (int i = 0; i < 3; ++i) f.run(inputs);
  EXPECT_EQ(f.made, 1);
  EXPECT_EQ(f.counts.bodies, 2);
  EXPECT_EQ(f.counts.replays, 2);
  const Tensor* of_run = f.state.find("doubled", inputs.at("text").front().id());
  ASSERT_NE(of_run, nullptr);
  EXPECT_FALSE(f.seen.is_same(*of_run)) << "the run's state may end before the graph";
  EXPECT_TRUE(f.seen.equal(at::full({3}, 2.0)));
}

TEST(CaptureRunner, TakesAnotherRunsValuesBeforeItIsPlayedBackForThat) {
  KeepingFixture f;
  Value first(at::ones({3}), Life::run), second(at::full({3}, 5.0), Life::run);
  for (int i = 0; i < 2; ++i) f.run({{"x", {at::ones({2})}}, {"text", {first}}});
  Tensor read = f.seen;
  RunState other;
  Values inputs{{"x", {at::ones({2})}}, {"text", {second}}};
  f.run(inputs, other);
  EXPECT_EQ(f.counts.bodies, 3) << "what the graph reads is not made in this run yet";
  EXPECT_TRUE(read.equal(at::full({3}, 2.0)));
  f.run(inputs, other);
  EXPECT_EQ(f.counts.bodies, 3);
  EXPECT_TRUE(read.equal(at::full({3}, 10.0)));
  f.run({{"x", {at::ones({2})}}, {"text", {first}}});
  EXPECT_TRUE(read.equal(at::full({3}, 2.0))) << "and back";
  EXPECT_EQ(f.counts.captures, 1);
}

TEST(CaptureRunner, NeverCapturesStepsThatShareFeatures) {
  using Kind = SharedStep::Kind;
  for (Kind kind : {Kind::deep, Kind::first_block, Kind::magnitude, Kind::attention}) {
    Fixture f;
    f.call.step = {.index = 0, .interval = 2, .kind = kind};
    for (int i = 0; i < 4; ++i) f.numbers(i, 3);
    EXPECT_EQ(f.counts.bodies, 4);
    EXPECT_EQ(f.counts.captures, 0);
  }
}

TEST(CaptureRunner, ForgetsEverythingWithTheWeights) {
  Fixture f;
  for (int i = 0; i < 3; ++i) f.numbers(i, 3);
  std::weak_ptr<const Binding> weights = f.binding;
  f.runner.forget();
  f.binding = Fixture::fresh_binding();
  EXPECT_TRUE(weights.expired());
  EXPECT_EQ(f.counts.alive, 0);
}

TEST(CaptureRunner, IsAsBeforeAfterACaptureThatFailed) {
  Fixture f;
  f.numbers(0, 3);
  f.counts.broken = true;
  EXPECT_THROW(f.numbers(1, 3), std::runtime_error);
  EXPECT_EQ(f.counts.alive, 0);
  f.counts.broken = false;
  f.numbers(2, 3);
  EXPECT_EQ(f.counts.captures, 1);
}

}  // namespace
}  // namespace omnirt
