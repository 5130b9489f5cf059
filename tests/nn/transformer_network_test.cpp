// A made-up family that declares enter, block and leave: everything between its blocks is the
// driver's.
#include "nn/transformer_network.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cancel.hpp"
#include "nn/layers.hpp"
#include "nn/layout.hpp"
#include "runtime/dry_forward.hpp"
#include "runtime/param_uses.hpp"
#include "runtime/weight_stream.hpp"
#include "weights/loader.hpp"

namespace omnirt::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::Throws;

constexpr int64_t dim = 8, texts = 3, joint_blocks = 2, single_blocks = 3;

struct MadeUpInput {
  Tensor sample, timestep, encoder_hidden_states;

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
  }
};

class MadeUpBlock final : public Module {
 public:
  MadeUpBlock(Module* parent, const std::string& name)
      : Module(parent, name), proj(this, "proj", dim, dim) {}
  const char* class_name() const override { return "MadeUpBlock"; }
  SiteKind site_kind() const override { return SiteKind::block; }
  Tensor forward(Context& cx, const Tensor& x, const Tensor& scale) const {
    Tensor h = proj.forward(cx, x, ops::Activation::silu);
    return cx.ops().gate(cx, {h, scale, &x});
  }

  Linear proj;
};

struct MadeUpCall {
  Tensor scale;  // {B, 1, 1}
  int64_t height, width;
};

// Text and image apart in the first blocks, then as one sequence.
class MadeUp final : public Transformer<MadeUpInput, MadeUpCall> {
 public:
  MadeUp()
      : Transformer(Json::object()),
        img_in(this, "img_in", 4, dim),
        txt_in(this, "txt_in", 5, dim),
        joint(this, "joint"),
        single(this, "single"),
        proj_out(this, "proj_out", dim, 4) {
    for (int64_t i = 0; i < joint_blocks; ++i) joint.add();
    for (int64_t i = 0; i < single_blocks; ++i) single.add();
    set_blocks(joint, single);
  }
  const char* class_name() const override { return "MadeUp"; }
  Metadata metadata() const override { return {}; }
  int64_t in_channels() const override { return 4; }
  int64_t out_channels() const override { return 4; }
  std::array<int64_t, 2> sample_size() const override { return {0, 0}; }
  int64_t context_dim() const override { return 5; }
  std::vector<ResidualSite> residual_sites() const override {
    return {{.input = "joint_residuals", .blocks = joint.size(), .dim = dim},
            {.input = "single_residuals",
             .blocks = single.size(),
             .dim = dim,
             .first_block = joint.size(),
             .unused = 1}};
  }

  Linear img_in, txt_in;
  ModuleList<MadeUpBlock> joint, single;
  Linear proj_out;

 private:
  Trunk enter(Context& cx, const MadeUpInput& input) const override {
    const int64_t height = input.sample.size(2), width = input.sample.size(3);
    Tensor scale = input.timestep.view({-1, 1, 1});
    return {.tokens = {.text = txt_in.forward(cx, input.encoder_hidden_states),
                       .image = img_in.forward(cx, tokens_of(input.sample))},
            .axis = TokenSpan{texts, height * width},
            .call = {scale, height, width}};
  }
  std::optional<size_t> joined_from() const override { return joint.size(); }
  TokenStream block(Context& cx, size_t i, TokenStream x, const MadeUpCall& call) const override {
    if (i >= joint.size())
      return {.image = single[i - joint.size()].forward(cx, x.image, call.scale)};
    return {.text = joint[i].forward(cx, x.text, call.scale),
            .image = joint[i].forward(cx, x.image, call.scale)};
  }
  Tensor leave(Context& cx, const Tensor& tokens, const MadeUpCall& call) const override {
    return image_of(proj_out.forward(cx, tokens), call.height, call.width);
  }
};

Tensor numbers(at::IntArrayRef shape, uint64_t seed) {
  return at::randn(shape, at::detail::createCPUGenerator(seed), at::kFloat);
}

std::vector<std::shared_ptr<const Weight>> weights_of(const Network& network) {
  std::vector<std::shared_ptr<const Weight>> all;
  for (const Param* param : network.params()) {
    auto values = std::make_shared<Tensor>(numbers(param->shape, param->index + 1) * 0.2);
    auto weight = std::make_shared<Weight>();
    weight->name = param->name;
    weight->shape = param->shape;
    weight->data = static_cast<const std::byte*>(values->const_data_ptr());
    weight->bytes = values->nbytes();
    weight->owner = values;
    all.push_back(std::move(weight));
  }
  return all;
}

class MadeUpFamily : public ::testing::Test {
 protected:
  Context context(Context::Options options = {}) const { return {ops, binding, options}; }
  Tensor predicted(const Values& given, Context::Options options = {}) const {
    Context cx = context(options);
    return network.predict(cx, given);
  }
  // By hand: the blocks in a loop, with what `after` makes of the image's tokens after each.
  Tensor by_hand(const std::function<Tensor(size_t, const Tensor&)>& after,
                 const std::set<size_t>& skipped = {}) const {
    Context cx = context();
    const Tensor scale = one(inputs, "timestep").view({-1, 1, 1});
    Tensor text = network.txt_in.forward(cx, one(inputs, "encoder_hidden_states"));
    Tensor image = network.img_in.forward(cx, tokens_of(one(inputs, "sample")));
    for (size_t i = 0; i < joint_blocks + single_blocks; ++i) {
      if (i == joint_blocks) image = at::cat({text, image}, 1);
      if (!skipped.contains(i)) {
        const MadeUpBlock& block =
            i < joint_blocks ? network.joint[i] : network.single[i - joint_blocks];
        if (i < joint_blocks) text = block.forward(cx, text, scale);
        image = block.forward(cx, image, scale);
      }
      const int64_t before = i < joint_blocks ? 0 : texts;
      const Tensor own = image.narrow(1, before, image.size(1) - before);
      image = at::cat({image.narrow(1, 0, before), after(i, own)}, 1);
    }
    const Tensor own = image.narrow(1, texts, image.size(1) - texts);
    return image_of(network.proj_out.forward(cx, own), 4, 6);
  }
  static Tensor unchanged(size_t, const Tensor& x) { return x; }

  MadeUp network;
  ops::OpTable ops;
  std::vector<std::shared_ptr<const Weight>> weights = weights_of(network);
  std::shared_ptr<const Binding> binding = std::make_shared<const Binding>(weights, ComputeForm{});
  Values inputs{{"sample", {numbers({2, 4, 4, 6}, 101)}},
                {"timestep", {numbers({2}, 102)}},
                {"encoder_hidden_states", {numbers({2, texts, 5}, 103)}}};
  const RowIds rows{{.condition = 0, .image = 0}, {.condition = 0, .image = 1}};
};

TEST_F(MadeUpFamily, RunsItsBlocksInOrderEachUnderItsName) {
  std::vector<OpRecord> trace;
  EXPECT_TRUE(predicted(inputs, {.trace = &trace}).equal(by_hand(unchanged)));
  std::vector<std::string> names;
  for (const OpRecord& op : trace)
    if (names.empty() || names.back() != op.segment) names.push_back(op.segment);
  EXPECT_THAT(names, ElementsAre("", "joint.0", "joint.1", "single.0", "single.1", "single.2"));
}

TEST_F(MadeUpFamily, TakesResidualsAfterTheBlocksThatItNames) {
  Values given = inputs;
  std::vector<Tensor> residuals;
  for (uint64_t i = 0; i < joint_blocks + single_blocks; ++i) {
    residuals.push_back(numbers({2, 24, dim}, 200 + i));
    given[i < joint_blocks ? "joint_residuals" : "single_residuals"].emplace_back(residuals[i]);
  }
  const Tensor none = at::zeros({2, 0, dim});
  given["joint_residuals"][1] = none;  // nothing is added after this one
  const Tensor expected = by_hand([&](size_t i, const Tensor& x) {
    return i == 1 || i == joint_blocks + single_blocks - 1 ? x : x + residuals[i];
  });
  EXPECT_TRUE(predicted(given).equal(expected));
  given["single_residuals"].pop_back();
  EXPECT_TRUE(predicted(given).equal(expected));
  given["joint_residuals"].emplace_back(residuals[0]);
  EXPECT_THROW(predicted(given), InternalError);
  given["joint_residuals"] = {numbers({2, 23, dim}, 300)};
  EXPECT_THROW(predicted(given), InternalError);
}

TEST_F(MadeUpFamily, SkipsBlocksThatAGuiderNames) {
  SitePlan plan;
  plan.set("joint.1", {});
  plan.set("single.0", {});  // text and image are joined all the same
  Context cx = context();
  cx.enter_batch({}, {}, &plan);
  EXPECT_TRUE(network.predict(cx, inputs).equal(by_hand(unchanged, {1, 2})));
}

TEST_F(MadeUpFamily, SharesBlocksBetweenSteps) {
  using Kind = SharedStep::Kind;
  for (Kind kind : {Kind::first_block, Kind::magnitude}) {
    RunState state;
    std::vector<OpRecord> trace;
    auto step = [&](size_t index, bool skips) {
      trace.clear();
      Context cx = context({.state = &state, .trace = &trace});
      cx.enter_batch(rows, {.index = index, .kind = kind, .threshold = 0.5, .skips = skips});
      return network.predict(cx, inputs);
    };
    const Tensor full = step(0, false);
    EXPECT_TRUE(full.equal(by_hand(unchanged)));
    // The same inputs: what the blocks added fits, within the rounding of one more sum.
    EXPECT_TRUE(step(1, true).allclose(full, 1e-5, 1e-5));
    const auto computed = [&](const std::string& block) {
      return std::ranges::count(trace, block, &OpRecord::segment) > 0;
    };
    EXPECT_EQ(computed("joint.0"), kind == Kind::first_block);
    EXPECT_FALSE(computed("joint.1"));
    EXPECT_EQ(state.block_cache().cached_steps(), 1u);
  }
}

TEST_F(MadeUpFamily, PredictsItsOutput) {
  RunState state;
  std::vector<OpRecord> trace;
  auto step = [&](size_t index, bool skips) {
    trace.clear();
    Context cx = context({.state = &state, .trace = &trace});
    cx.enter_batch(rows, {.index = index,
                          .kind = SharedStep::Kind::output,
                          .skips = skips,
                          .factors_type = at::kFloat});
    return network.predict(cx, inputs);
  };
  const Tensor full = step(0, false);
  EXPECT_TRUE(step(1, true).equal(full));
  EXPECT_TRUE(trace.empty());
}

TEST_F(MadeUpFamily, CallsTheSameOpsDryAndNamesTheBlockOfEachWeight) {
  std::vector<OpRecord> real, dry;
  std::vector<DryUse> uses;
  const Tensor made = predicted(inputs, {.trace = &real});
  const Tensor planned = predicted(inputs, {.dry = true, .trace = &dry, .uses = &uses});
  EXPECT_EQ(planned.sizes(), made.sizes());
  ASSERT_EQ(dry.size(), real.size());
  for (size_t i = 0; i < dry.size(); ++i) EXPECT_EQ(dry[i].output, real[i].output) << i;
  // Groups of weights that come and go are cut by these.
  for (const DryUse& use : uses) {
    const bool in_block = use.param.name.starts_with("joint") || use.param.name.starts_with("sing");
    if (in_block) {
      EXPECT_TRUE(use.param.name.starts_with(use.segment + ".")) << use.param.name;
    }
  }
  EXPECT_EQ(uses.size(), network.params().size());
}

TEST_F(MadeUpFamily, GivesTheSameBitsWhereWeightsComeAndGo) {
  std::vector<DryUse> uses;
  predicted(inputs, {.dry = true, .uses = &uses});
  std::vector<ParamUse> params;
  for (const DryUse& use : uses)
    params.push_back(param_use(use, *weights[use.param.index], binding->form(), WeightPlace::host));
  for (int64_t blocks : {1, 2}) {
    const Residency groups = cut_into_groups(params, Offload::group, blocks);
    EXPECT_GT(groups.groups.size(), 2u);
    WeightStream stream(std::make_shared<const Binding>(weights, ComputeForm{}), groups);
    BlockTimes times;
    Context cx(ops, stream.binding(), {.blocks = &times, .stream = &stream});
    EXPECT_TRUE(network.predict(cx, inputs).equal(by_hand(unchanged)));
    EXPECT_EQ(times.all().size(), size_t{joint_blocks + single_blocks});
  }
}

TEST_F(MadeUpFamily, EndsWithinACallWhenCancelled) {
  CancelToken cancel;
  cancel.cancel();
  EXPECT_THAT([&] { predicted(inputs, {.cancel = &cancel}); }, Throws<Cancelled>());
}

}  // namespace
}  // namespace omnirt::nn
