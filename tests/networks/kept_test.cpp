// What a network keeps between the steps of a run.
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/support.hpp"
#include "networks/unet_2d_condition_model/model.hpp"

namespace omnirt::testing {
namespace {

const RowIds rows{{0, 0}, {0, 1}, {1, 0, true}};

UNetInput input_of(const Tensors& tensors) {
  return {tensors.at("in.sample"),
          tensors.at("in.timestep"),
          tensors.at("in.encoder_hidden_states"),
          {}};
}

// The case's UNet called as a denoise loop calls it.
struct Loop {
  LoadedNetwork loaded = load_case("unet_sd2");
  UNetInput input = input_of(golden("unet_sd2", "golden"));
  RunState state;
  std::vector<OpRecord> trace;
  // Each tensor is one value.
  std::map<std::pair<void*, int64_t>, Value> texts;

  const UNet2DConditionModel& unet() const { return loaded.as<UNet2DConditionModel>(); }
  Tensor plain() {
    Context cx = loaded.context();
    return unet().forward(cx, input);
  }
  Tensor step(const SharedStep& plan, const RowIds& names = rows, bool constant = true) {
    return step(plan, names, input, constant);
  }
  Tensor step(const SharedStep& plan, const RowIds& names, const UNetInput& given,
              bool constant = true) {
    trace.clear();
    Context cx = loaded.context({.state = &state, .trace = &trace});
    cx.enter_batch(names, plan);
    const Tensor& all = given.encoder_hidden_states.tensor;
    std::pair<void*, int64_t> key{all.data_ptr(), all.size(0)};
    const Value& text = texts.try_emplace(key, all, Life::run).first->second;
    if (constant) cx.know(text.placed(all));
    return unet().forward(cx, given);
  }
  size_t ops(const std::string& name) const {
    return static_cast<size_t>(
        std::ranges::count_if(trace, [&](const OpRecord& op) { return op.op == name; }));
  }
  size_t cross_attentions() const {
    size_t count = 0;
    unet().visit([&](const nn::Module& module) {
      count += std::string(module.class_name()) == "BasicTransformerBlock";
    });
    return count;
  }
};

TEST(KeptTextKeys, AreMadeOnceARunAndLeaveEveryBitAsItWas) {
  Loop loop;
  Tensor expected = loop.plain();
  EXPECT_TRUE(at::equal(loop.step({.index = 0}), expected));
  size_t linears = loop.ops("linear");
  EXPECT_TRUE(at::equal(loop.step({.index = 1}), expected));
  EXPECT_EQ(linears - loop.ops("linear"), 2 * loop.cross_attentions());
}

TEST(KeptTextKeys, AreMadeForEachText) {
  Loop loop;
  loop.step({.index = 0});
  size_t linears = loop.ops("linear");
  UNetInput swapped = loop.input;
  swapped.encoder_hidden_states = swapped.encoder_hidden_states.tensor.flip(0);
  Context cx = loop.loaded.context();
  Tensor expected = loop.unet().forward(cx, swapped);
  EXPECT_TRUE(at::equal(loop.step({.index = 1}, {rows[2], rows[1], rows[0]}, swapped), expected));
  EXPECT_EQ(loop.ops("linear"), linears);
}

TEST(KeptTextKeys, AreMadeOnceForRowsThatShareAText) {
  Loop loop;
  UNetInput repeated = loop.input;
  const Tensor& all = loop.input.encoder_hidden_states.tensor;
  repeated.encoder_hidden_states =
      at::cat({all.narrow(0, 1, 1), all.narrow(0, 1, 1), all.narrow(0, 0, 1)});
  Context cx = loop.loaded.context();
  Tensor expected = loop.unet().forward(cx, repeated);
  repeated.encoder_hidden_states = {all.narrow(0, 0, 2), {1, 1, 0}};
  // Fewer rows in a product may be summed in other blockings.
  EXPECT_LT(difference(loop.step({.index = 0}, rows, repeated), expected), 1e-6);
  size_t kept = loop.state.bytes();
  EXPECT_LT(difference(loop.step({.index = 1}, rows, repeated), expected), 1e-6);
  EXPECT_EQ(loop.state.bytes(), kept);
}

TEST(KeptTextKeys, AreNotKeptForInputsThatMayChange) {
  Loop loop;
  loop.step({.index = 0}, rows, false);
  EXPECT_EQ(loop.state.bytes(), 0u);
}

TEST(KeptTextKeys, AreNotKeptWithoutARunState) {
  Loop loop;
  Tensor expected = loop.plain();
  Context cx = loop.loaded.context({.trace = &loop.trace});
  cx.enter_batch(rows, {});
  cx.know(Value(loop.input.encoder_hidden_states.tensor, Life::run));
  EXPECT_TRUE(at::equal(loop.unet().forward(cx, loop.input), expected));
  size_t linears = loop.ops("linear");
  loop.trace.clear();
  loop.unet().forward(cx, loop.input);
  EXPECT_EQ(loop.ops("linear"), linears);
}

TEST(SharedDeepFeatures, GiveTheSameBitsWhereNothingHasChangedAtEveryBranch) {
  for (size_t branch = 0; branch < Loop().unet().cache_branches(); ++branch) {
    Loop loop;
    Tensor expected = loop.plain();
    EXPECT_TRUE(at::equal(loop.step({0, 2, branch}), expected)) << branch;
    size_t full = loop.trace.size();
    EXPECT_TRUE(at::equal(loop.step({1, 2, branch}), expected)) << branch;
    EXPECT_LT(loop.trace.size(), full) << branch;
  }
}

TEST(SharedDeepFeatures, LeaveOnlyTheShallowPartToCompute) {
  Loop loop;
  std::set<std::string> convolved;
  loop.step({0, 2, 0});
  loop.step({1, 2, 0});
  for (const OpRecord& op : loop.trace) convolved.insert(op.segment);
  for (const std::string& segment : convolved) {
    bool shallow = segment.empty() || segment == "deep" || segment.starts_with("up_blocks.3");
    EXPECT_TRUE(shallow) << segment;
  }
}

TEST(SharedDeepFeatures, GoOnAlongTheLineThroughTheLastTwoFullSteps) {
  StepCache cache;
  auto at_step = [&](size_t index) { cache.enter({index, 2, 0, 1}); };
  Tensor first = at::rand({2, 3}), second = at::rand({2, 3});
  const RowIds names{{0, 0}, {1, 0, true}};
  at_step(0);
  EXPECT_FALSE(cache.find("deep", names).defined());
  cache.keep("deep", names, first);
  at_step(1);
  EXPECT_TRUE(cache.find("deep", names).is_same(first)) << "one step tells no direction";
  at_step(2);
  EXPECT_FALSE(cache.find("deep", names).defined());
  cache.keep("deep", names, second);
  at_step(3);
  EXPECT_TRUE(at::allclose(cache.find("deep", names), second + (second - first) * 0.5));
  EXPECT_TRUE(at::allclose(cache.find("deep", {RowId{1, 0, true}}),
                           (second + (second - first) * 0.5).narrow(0, 1, 1)))
      << "a row by itself";
  EXPECT_EQ(cache.full_steps(), 2u);
  EXPECT_EQ(cache.cached_steps(), 2u);
}

TEST(SharedDeepFeatures, OfOrderOneAreTheSameBitsWhereNothingChanges) {
  Loop loop;
  Tensor expected = loop.plain();
  for (size_t index = 0; index < 4; ++index) {
    Tensor y = loop.step({index, 2, 0, 1});
    EXPECT_TRUE(at::allclose(y, expected, 1e-6, 1e-6)) << index;
  }
}

TEST(SharedDeepFeatures, AreTheFullStepsNotTheCachedOnes) {
  Loop loop;
  loop.step({0, 3, 0});
  UNetInput later = loop.input;
  later.sample = later.sample * 0.5;
  Tensor second = loop.step({1, 3, 0}, rows, later);
  EXPECT_TRUE(at::equal(loop.step({2, 3, 0}, rows, later), second));
  Context cx = loop.loaded.context();
  EXPECT_TRUE(at::equal(loop.step({3, 3, 0}, rows, later), loop.unet().forward(cx, later)));
}

TEST(SharedDeepFeatures, ServeABatchThatIsSplitOtherwise) {
  Loop loop;
  loop.step({0, 2, 1});
  Tensor together = loop.step({1, 2, 1});
  for (int64_t i = 0; i < 3; ++i) {
    auto alone_of = [&](const Tensor& x) { return x.size(0) > 1 ? x.narrow(0, i, 1) : x; };
    UNetInput alone{alone_of(loop.input.sample),
                    alone_of(loop.input.timestep),
                    alone_of(loop.input.encoder_hidden_states.tensor),
                    {}};
    Tensor row = loop.step({1, 2, 1}, {rows[static_cast<size_t>(i)]}, alone);
    // The same sums in other blockings.
    EXPECT_LT(difference(row, together.narrow(0, i, 1)), 1e-5);
  }
  EXPECT_EQ(loop.state.step_cache().cached_steps(), 1u);
}

TEST(SharedFeatures, AreDeclaredByTheClassesThatHaveThem) {
  for (const nn::NetworkInfo& info : catalogue().networks) {
    auto network = usual_network(info);
    const auto* denoiser = dynamic_cast<const nn::DenoiserNetwork*>(network.get());
    nn::Metadata metadata = network->metadata();
    const bool has = denoiser && (denoiser->cache_branches() > 0 || denoiser->caches_blocks());
    EXPECT_EQ(metadata["_supports_cache"], Json(has)) << info.class_name;
  }
}

}  // namespace
}  // namespace omnirt::testing
