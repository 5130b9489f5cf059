#include "pipeline/denoiser.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blocks/denoise.hpp"
#include "pipeline/checks.hpp"

namespace omnirt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Tensor number(double value, int64_t width = 1) {
  return at::full({1, width}, value, at::kFloat);
}

const RowId cond_0{0, 0}, cond_1{0, 1}, uncond_0{1, 0, true}, uncond_1{1, 1, true};

// What each condition says, the same at every step.
const Value text_of_cond(number(1), Life::run), text_of_uncond(number(2), Life::run);

std::vector<Row> rows_of_step(double sample) {
  std::vector<Row> rows;
  for (const RowId& id : {cond_0, cond_1, uncond_0, uncond_1}) {
    rows.push_back(
        {id,
         {{"sample", {number(sample)}}, {"text", {id.negative ? text_of_uncond : text_of_cond}}}});
  }
  return rows;
}

const Value& only(const RowBatch& batch, const char* name) {
  return batch.inputs.at(name).front();
}

// Calls of a network that returns its sample.
struct Calls {
  std::vector<RowBatch> seen;
  Denoiser denoiser;
  explicit Calls(size_t max_rows)
      : denoiser(
            [this](const RowBatch& batch) {
              seen.push_back(batch);
              return one(batch.inputs, "sample");
            },
            max_rows) {}
  std::vector<RowIds> rows() const {
    std::vector<RowIds> all;
    for (const RowBatch& batch : seen) all.push_back(batch.rows);
    return all;
  }
};

TEST(Denoiser, NamesTheRowsOfEachBatchByConditionAndImage) {
  Calls calls(3);
  calls.denoiser.predict(rows_of_step(1));
  EXPECT_THAT(calls.rows(), ElementsAre(RowIds{cond_0, cond_1, uncond_0}, RowIds{uncond_1}));
}

TEST(Denoiser, KeepsRowsOfDifferentPlansAndNetworksApart) {
  auto skips = std::make_shared<SitePlan>(), same = std::make_shared<SitePlan>();
  for (auto& plan : {skips, same}) plan->set("mid_block", {SiteChange::What::skip});
  std::vector<Row> rows = rows_of_step(1);
  rows[1].sites = skips;
  rows[2].sites = same;
  rows[3].network = "guide_network";
  Calls calls(8);
  calls.denoiser.predict(rows);
  std::map<std::string, RowIds> seen;
  for (const RowBatch& batch : calls.seen)
    seen[batch.network + (batch.sites ? batch.sites->key() : "")] = batch.rows;
  EXPECT_THAT(seen, ElementsAre(Pair("", RowIds{cond_0}), Pair("guide_network", RowIds{uncond_1}),
                                Pair(skips->key(), RowIds{cond_1, uncond_0})));
}

TEST(Denoiser, HoldsEqualRowsThatLiveAsLongAsTheRunOnce) {
  Calls calls(4);
  calls.denoiser.predict(rows_of_step(1));
  const Value& text = only(calls.seen.front(), "text");
  EXPECT_EQ(text.life(), Life::run);
  EXPECT_TRUE(text.tensor().equal(at::cat({number(1), number(2)})));
  EXPECT_THAT(text.rows(), ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(only(calls.seen.front(), "sample").tensor().size(0), 4);
}

TEST(Denoiser, MakesTheSameValuesOneValueAtEveryStepAndInEveryBatch) {
  Calls calls(2);
  auto in_turn = [](double sample) {
    std::vector<Row> rows = rows_of_step(sample);
    std::swap(rows[1], rows[2]);  // as windows ask: both conditions of each
    return rows;
  };
  for (double step : {1.0, 2.0}) calls.denoiser.predict(in_turn(step));
  ASSERT_EQ(calls.seen.size(), 4u);
  for (const RowBatch& batch : calls.seen) {
    EXPECT_EQ(only(batch, "text").id(), only(calls.seen.front(), "text").id());
    EXPECT_TRUE(only(batch, "text").rows().empty()) << "each row is its own";
  }
  EXPECT_NE(only(calls.seen[2], "sample").id(), only(calls.seen[0], "sample").id());
}

TEST(Denoiser, GivesThePredictionsInTheRowsOrder) {
  Calls calls(4);
  std::vector<Row> fewer = rows_of_step(3);
  fewer.resize(2);
  EXPECT_EQ(calls.denoiser.predict(fewer).at(1).item<double>(), 3);
}

TEST(Denoiser, KeepsRowsOfDifferentShapesApart) {
  Calls calls(8);
  auto row = [](RowId id, int64_t width) {
    return Row{id, {{"sample", {number(1)}}, {"text", {Value(number(1, width), Life::run)}}}};
  };
  calls.denoiser.predict({row(cond_0, 3), row(uncond_0, 5), row(cond_1, 3)});
  EXPECT_THAT(calls.rows(), ElementsAre(RowIds{cond_0, cond_1}, RowIds{uncond_0}));
}

class PlainNetwork final : public nn::DenoiserNetwork {
 public:
  explicit PlainNetwork(size_t branches) : DenoiserNetwork(Json::object()), branches_(branches) {}
  const char* class_name() const override { return "PlainNetwork"; }
  nn::Metadata metadata() const override { return {}; }
  Tensor predict(Context&, const Values&) const override { return {}; }
  std::vector<nn::NetworkInput> inputs() const override { return {}; }
  int64_t in_channels() const override { return 4; }
  int64_t out_channels() const override { return 4; }
  std::array<int64_t, 2> sample_size() const override { return {8, 8}; }
  int64_t context_dim() const override { return 4; }
  size_t cache_branches() const override { return branches_; }

 private:
  size_t branches_;
};

// What the denoise loop finds in a request with these keys for a network of so many branches.
Settled checked(const Json& config, size_t branches) {
  Settled settled;
  for (const KeyInfo* key : {static_cast<const KeyInfo*>(&keys::cache),
                             static_cast<const KeyInfo*>(&keys::cache_interval),
                             static_cast<const KeyInfo*>(&keys::cache_branch),
                             static_cast<const KeyInfo*>(&keys::cache_order)}) {
    settled.config.set(key->name, key->fallback_json(), Origin::fallback);
  }
  for (const auto& [name, value] : config.items()) settled.config.set(name, value, Origin::user);
  auto component = std::make_shared<LoadedComponent>();
  component->network = std::make_unique<PlainNetwork>(branches);
  LoadedPipeline pipeline;
  pipeline.add("unet", component);
  blocks::DenoiseLoop loop;
  Checks before(settled, loop), loaded(settled, loop, &pipeline);
  loop.check(before);
  loop.check_loaded(loaded);
  return settled;
}

TEST(DenoiseLoop, RefusesACacheWhereTheNetworkHasNoPlaceForIt) {
  Settled settled = checked({{"cache", "deep"}}, 0);
  ASSERT_EQ(settled.errors.size(), 1u);
  EXPECT_EQ(settled.errors.front().field, "config.cache");
  EXPECT_THAT(settled.errors.front().message, HasSubstr("PlainNetwork"));
}

TEST(DenoiseLoop, RefusesABranchThatTheNetworkDoesNotHave) {
  EXPECT_TRUE(checked({{"cache", "deep"}, {"cache_branch", 5}}, 6).ok());
  Settled settled = checked({{"cache", "deep"}, {"cache_branch", 6}}, 6);
  ASSERT_EQ(settled.errors.size(), 1u);
  EXPECT_EQ(settled.errors.front().field, "config.cache_branch");
  EXPECT_THAT(settled.errors.front().way_out, HasSubstr("0 to 5"));
}

TEST(DenoiseLoop, WarnsOfCacheSettingsWithoutACache) {
  Settled settled = checked({{"cache_interval", 2}}, 6);
  EXPECT_TRUE(settled.ok());
  ASSERT_EQ(settled.warnings.size(), 1u);
  EXPECT_EQ(settled.warnings.front().field, "config.cache_interval");
}

}  // namespace
}  // namespace omnirt
