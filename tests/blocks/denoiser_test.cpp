#include "pipeline/denoiser.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blocks/denoise.hpp"
#include "request/proposal.hpp"

namespace omnirt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Tensor number(double value, int64_t width = 1) {
  return at::full({1, width}, value, at::kFloat);
}

std::vector<Row> rows_of_step(double sample) {
  std::vector<Row> rows;
  for (const char* condition : {"cond", "uncond"}) {
    for (size_t picture = 0; picture < 2; ++picture) {
      rows.push_back(
          {{{"sample", number(sample)}}, {{"text", number(condition[0])}}, condition, picture});
    }
  }
  return rows;
}

TEST(Denoiser, NamesTheRowsOfEachBatchByConditionAndPicture) {
  std::vector<RowNames> seen;
  Denoiser denoiser(
      [&](const RowBatch& batch) {
        seen.push_back(batch.rows);
        return batch.inputs.at("sample");
      },
      3);
  denoiser.predict(rows_of_step(1));
  EXPECT_THAT(seen, ElementsAre(RowNames{"cond/0", "cond/1", "uncond/0"}, RowNames{"uncond/1"}));
}

TEST(Denoiser, KeepsRowsOfDifferentPlansAndNetworksApart) {
  auto skips = std::make_shared<SitePlan>(), same = std::make_shared<SitePlan>();
  for (auto& plan : {skips, same}) plan->set("mid_block", {SiteChange::What::skip});
  std::vector<Row> rows = rows_of_step(1);
  rows[1].sites = skips;
  rows[2].sites = same;
  rows[3].network = "guide_network";
  std::map<std::string, RowNames> seen;
  Denoiser denoiser(
      [&](const RowBatch& batch) {
        seen[batch.network + (batch.sites ? batch.sites->key() : "")] = batch.rows;
        return batch.inputs.at("sample");
      },
      8);
  denoiser.predict(rows);
  EXPECT_THAT(seen,
              ElementsAre(Pair("", RowNames{"cond/0"}), Pair("guide_network", RowNames{"uncond/1"}),
                          Pair(skips->key(), RowNames{"cond/1", "uncond/0"})));
}

TEST(Denoiser, BatchesInputsThatStayTheSameOnceARun) {
  std::vector<RowBatch> seen;
  Denoiser denoiser(
      [&](const RowBatch& batch) {
        seen.push_back(batch);
        return batch.inputs.at("sample");
      },
      4);
  for (double step : {1.0, 2.0}) denoiser.predict(rows_of_step(step));
  std::vector<Row> fewer = rows_of_step(3);
  fewer.resize(2);
  std::vector<Tensor> predicted = denoiser.predict(fewer);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_THAT(seen[0].constants, ElementsAre("text"));
  EXPECT_TRUE(seen[0].inputs.at("text").is_same(seen[1].inputs.at("text")));
  EXPECT_EQ(seen[2].inputs.at("text").size(0), 2);
  EXPECT_EQ(seen[1].inputs.at("sample").sum().item<double>(), 8);
  EXPECT_EQ(predicted.at(1).item<double>(), 3);
}

TEST(Denoiser, KeepsRowsOfDifferentShapesApart) {
  std::vector<RowNames> seen;
  Denoiser denoiser(
      [&](const RowBatch& batch) {
        seen.push_back(batch.rows);
        return batch.inputs.at("sample");
      },
      8);
  denoiser.predict({{{{"sample", number(1)}}, {{"text", number(1, 3)}}, "cond", 0},
                    {{{"sample", number(1)}}, {{"text", number(1, 5)}}, "uncond", 0},
                    {{{"sample", number(1)}}, {{"text", number(1, 3)}}, "cond", 1}});
  EXPECT_THAT(seen, ElementsAre(RowNames{"cond/0", "cond/1"}, RowNames{"uncond/0"}));
}

class PlainNetwork final : public nn::DenoiserNetwork {
 public:
  explicit PlainNetwork(size_t branches) : DenoiserNetwork(Json::object()), branches_(branches) {}
  const char* class_name() const override { return "PlainNetwork"; }
  nn::Metadata metadata() const override { return {}; }
  Tensor predict(Context&, const nn::NamedTensors&) const override { return {}; }
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
Proposal checked(const Json& config, size_t branches) {
  Proposal proposal;
  for (const KeyInfo* key : {static_cast<const KeyInfo*>(&keys::cache),
                             static_cast<const KeyInfo*>(&keys::cache_interval),
                             static_cast<const KeyInfo*>(&keys::cache_branch),
                             static_cast<const KeyInfo*>(&keys::cache_order)}) {
    proposal.config.set(key->name, key->fallback_json(), Origin::fallback);
  }
  for (const auto& [name, value] : config.items()) proposal.config.set(name, value, Origin::user);
  auto component = std::make_shared<LoadedComponent>();
  component->network = std::make_unique<PlainNetwork>(branches);
  LoadedPipeline pipeline;
  pipeline.add("unet", component);
  blocks::DenoiseLoop loop;
  loop.check(proposal);
  loop.check_loaded(proposal, pipeline);
  return proposal;
}

TEST(DenoiseLoop, RefusesACacheWhereTheNetworkHasNoPlaceForIt) {
  Proposal proposal = checked({{"cache", "deep"}}, 0);
  ASSERT_EQ(proposal.errors.size(), 1u);
  EXPECT_EQ(proposal.errors.front().field, "config.cache");
  EXPECT_THAT(proposal.errors.front().message, HasSubstr("PlainNetwork"));
}

TEST(DenoiseLoop, RefusesABranchThatTheNetworkDoesNotHave) {
  EXPECT_TRUE(checked({{"cache", "deep"}, {"cache_branch", 5}}, 6).ok());
  Proposal proposal = checked({{"cache", "deep"}, {"cache_branch", 6}}, 6);
  ASSERT_EQ(proposal.errors.size(), 1u);
  EXPECT_EQ(proposal.errors.front().field, "config.cache_branch");
  EXPECT_THAT(proposal.errors.front().way_out, HasSubstr("0 to 5"));
}

TEST(DenoiseLoop, WarnsOfCacheSettingsWithoutACache) {
  Proposal proposal = checked({{"cache_interval", 2}}, 6);
  EXPECT_TRUE(proposal.ok());
  ASSERT_EQ(proposal.warnings.size(), 1u);
  EXPECT_EQ(proposal.warnings.front().field, "config.cache_interval");
}

}  // namespace
}  // namespace omnirt
