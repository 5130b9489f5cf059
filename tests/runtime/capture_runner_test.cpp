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
  bool keeps = false;
  std::shared_ptr<const Binding> binding = fresh_binding();

  static std::shared_ptr<const Binding> fresh_binding() {
    return std::make_shared<const Binding>(std::vector<std::shared_ptr<const Weight>>{},
                                           ComputeForm{});
  }
  // The flat view of a tensor of n numbers from `start` on.
  Tensor call(double start, int64_t n, const std::string& variant = "") {
    Tensor x = at::arange(start, start + static_cast<double>(n), at::kFloat).view({n, 1});
    Context cx(ops, binding, {.state = &state});
    ComponentCall call{{{"x", x}}, variant, [this](Context& within, const NamedTensors& in) {
                         ++counts.bodies;
                         if (keeps) within.state()->keep("site", "cond", in.at("x").clone());
                         return in.at("x").view({-1});
                       }};
    Tensor y = runner.run(cx, call, call.inputs);
    EXPECT_TRUE(y.equal(x.view({-1})));
    return y;
  }
};

TEST(CaptureRunner, RunsTheFirstCallCapturesTheSecondAndPlaysBackTheRest) {
  Fixture f;
  f.call(0, 3);
  EXPECT_EQ(f.counts.captures, 0);
  Tensor second = f.call(10, 3), kept = second.clone();
  f.call(20, 3);
  f.call(30, 3);
  EXPECT_EQ(f.counts.bodies, 2);
  EXPECT_EQ(f.counts.captures, 1);
  EXPECT_EQ(f.counts.replays, 3);
  EXPECT_TRUE(second.equal(kept)) << "a later call wrote into an earlier result";
}

TEST(CaptureRunner, TellsShapesTypesAndVariantsApart) {
  Fixture f;
  f.call(0, 3);
  f.call(0, 4);
  f.call(0, 3, "other");
  EXPECT_EQ(f.counts.bodies, 3);
  EXPECT_EQ(f.counts.captures, 0);
}

TEST(CaptureRunner, KeepsTheCapturesThatWereUsedLast) {
  Fixture f;
  for (int64_t n : {1, 1, 2, 2, 1, 3, 3}) f.call(0, n);
  EXPECT_EQ(f.runner.captures(), 2u);
  int bodies = f.counts.bodies;
  f.call(0, 1);
  EXPECT_EQ(f.counts.bodies, bodies) << "the one used before last is still there";
  f.call(0, 2);
  EXPECT_EQ(f.counts.bodies, bodies + 1) << "the oldest went";
}

TEST(CaptureRunner, CapturesAnewOverOtherWeights) {
  Fixture f;
  for (int i = 0; i < 3; ++i) f.call(i, 3);
  f.binding = Fixture::fresh_binding();
  f.call(5, 3);
  EXPECT_EQ(f.counts.bodies, 3);
  EXPECT_EQ(f.counts.alive, 0) << "the capture over the old weights went";
}

TEST(CaptureRunner, NeverCapturesACallThatKeepsValuesInTheRunsState) {
  Fixture f;
  f.keeps = true;
  for (int i = 0; i < 4; ++i) f.call(i, 3);
  EXPECT_EQ(f.counts.bodies, 4);
  EXPECT_EQ(f.counts.captures, 0);
}

TEST(CaptureRunner, ForgetsEverythingWithTheWeights) {
  Fixture f;
  for (int i = 0; i < 3; ++i) f.call(i, 3);
  std::weak_ptr<const Binding> weights = f.binding;
  f.runner.forget();
  f.binding = Fixture::fresh_binding();
  EXPECT_TRUE(weights.expired());
  EXPECT_EQ(f.counts.alive, 0);
}

TEST(CaptureRunner, IsAsBeforeAfterACaptureThatFailed) {
  Fixture f;
  f.call(0, 3);
  f.counts.broken = true;
  EXPECT_THROW(f.call(1, 3), std::runtime_error);
  EXPECT_EQ(f.counts.alive, 0);
  f.counts.broken = false;
  f.call(2, 3);
  EXPECT_EQ(f.counts.captures, 1);
}

}  // namespace
}  // namespace omnirt
