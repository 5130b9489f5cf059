#include "engine/memory_plan.hpp"

#include <gtest/gtest.h>

#include <random>

namespace omnirt {
namespace {

constexpr uint64_t base = 100;

// `blocks` blocks of two layers, each of `bytes`, and a vector that stays.
PlannedComponent component(const std::string& name, size_t blocks, uint64_t bytes, size_t block) {
  PlannedComponent made{.name = name, .first_block = block, .last_block = block};
  size_t param = 0;
  for (size_t i = 0; i < blocks; ++i) {
    const std::string path = "blocks." + std::to_string(i);
    made.uses.push_back({param++, path + ".to_q", path, bytes});
    made.uses.push_back({param++, path + ".to_out", path, bytes});
  }
  made.uses.push_back({param, "norm", "blocks.0", 1, /*stays=*/true});
  made.bytes = 2 * blocks * bytes + 1;
  return made;
}

// An encoder of 801 bytes, a denoiser of 2001, a decoder of 401, one after the other.
PlanningFacts three_networks() {
  return {.base_bytes = base,
          .components = {component("text_encoder", 4, 100, 0), component("unet", 10, 100, 1),
                         component("vae", 2, 100, 2)},
          .moments = {{0, "encode", "text_encoder", 10},
                      {1, "denoise", "unet", 50},
                      {2, "decode", "vae", 300}}};
}

uint64_t peak_with(const PlanningWishes& wishes, const PlanningFacts& facts = three_networks()) {
  return plan_memory(facts, wishes).peak_bytes;
}

TEST(MemoryPlan, AddsUpWhatIsThereAtTheWorstMoment) {
  EXPECT_EQ(peak_with({.offload = Offload::none}), base + 801 + 2001 + 401 + 300);
  EXPECT_EQ(peak_with({.offload = Offload::component}), base + 2001 + 50);
  // Two of five groups, which each have two blocks of 200, and what stays; the decoder's two blocks
  // are one group, which cannot be cut.
  EXPECT_EQ(peak_with({.offload = Offload::group, .blocks_per_group = 2}), base + 801 + 50);
  EXPECT_EQ(peak_with({.offload = Offload::leaf}), base + 201 + 300);
}

TEST(MemoryPlan, KeepsComponentsForTheNextRunWhereAllFits) {
  PlanningFacts facts = three_networks();
  facts.keeps_components = true;
  RunMemoryPlan plan = plan_memory(facts, {.budget_bytes = 10000});
  EXPECT_EQ(plan.components.at("unet").offload, Offload::none);
  EXPECT_FALSE(plan.releases_components);
  EXPECT_EQ(plan.peak_bytes, base + 801 + 2001 + 401 + 300);
}

TEST(MemoryPlan, CutsOnlyWhatIsTooLarge) {
  RunMemoryPlan plan = plan_memory(three_networks(), {.budget_bytes = 1500});
  EXPECT_TRUE(plan.fits);
  EXPECT_LE(plan.peak_bytes, 1500U);
  EXPECT_EQ(plan.components.at("unet").offload, Offload::group);
  EXPECT_EQ(plan.components.at("text_encoder").offload, Offload::component);
  EXPECT_EQ(plan.components.at("vae").offload, Offload::component);
}

TEST(MemoryPlan, TakesTheLargestGroupsThatFit) {
  RunMemoryPlan loose = plan_memory(three_networks(), {.budget_bytes = 1900});
  RunMemoryPlan tight = plan_memory(three_networks(), {.budget_bytes = 800});
  EXPECT_GT(loose.components.at("unet").blocks_per_group,
            tight.components.at("unet").blocks_per_group);
}

TEST(MemoryPlan, SaysTheLeastThatCanBeWhereNothingFits) {
  RunMemoryPlan plan = plan_memory(three_networks(), {.budget_bytes = 300});
  EXPECT_FALSE(plan.fits);
  // A layer at a time, none ahead.
  EXPECT_EQ(plan.peak_bytes, base + 101 + 300);
  EXPECT_EQ(plan.at.block_name, "decode");
  EXPECT_TRUE(plan_memory(three_networks(), {.budget_bytes = plan.peak_bytes}).fits);
}

TEST(MemoryPlan, HoldsAForcedOffloadForEveryNetwork) {
  for (Offload offload : {Offload::component, Offload::leaf}) {
    RunMemoryPlan plan = plan_memory(three_networks(), {.offload = offload});
    for (const auto& [name, residency] : plan.components)
      EXPECT_EQ(residency.offload, offload) << name;
  }
}

TEST(MemoryPlan, CountsTheGroupsThatComeInAhead) {
  for (uint64_t ahead : {0, 1, 3}) {
    const PlanningWishes wishes{.offload = Offload::leaf, .prefetch = static_cast<int64_t>(ahead)};
    const RunMemoryPlan plan = plan_memory(three_networks(), wishes);
    EXPECT_EQ(plan.components.at("unet").peak_bytes(), 1 + 100 * (ahead + 1));
    EXPECT_EQ(plan.components.at("unet").prefetch, wishes.prefetch);
  }
}

TEST(MemoryPlan, BringsNothingInAheadOnlyWhereNothingElseFits) {
  const uint64_t ahead = peak_with({.offload = Offload::leaf});
  RunMemoryPlan plan = plan_memory(three_networks(), {.budget_bytes = ahead});
  for (const auto& [name, residency] : plan.components) EXPECT_EQ(residency.prefetch, 1) << name;
  plan = plan_memory(three_networks(), {.budget_bytes = ahead - 1});
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(plan.components.at("vae").prefetch, 0);
  EXPECT_EQ(plan.components.at("unet").prefetch, 1);
  // One that was asked for is kept.
  plan = plan_memory(three_networks(), {.budget_bytes = ahead - 1, .prefetch = 1});
  EXPECT_FALSE(plan.fits);
}

TEST(MemoryPlan, CountsNetworksThatWorkTogether) {
  PlanningFacts facts = three_networks();
  facts.components.push_back(component("controlnet", 5, 100, 1));
  facts.moments.push_back({1, "denoise", "controlnet", 60});
  EXPECT_EQ(peak_with({.offload = Offload::component}, facts), base + 2001 + 1001 + 60);
  RunMemoryPlan plan = plan_memory(facts, {.budget_bytes = 1600});
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(plan.components.at("unet").offload, Offload::group);
}

TEST(MemoryPlan, NeverPassesItsBudgetWhereItSaysThatItFits) {
  std::mt19937 random(7);
  auto between = [&](uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(random);
  };
  for (int i = 0; i < 500; ++i) {
    PlanningFacts facts{.base_bytes = between(1, 500), .keeps_components = between(0, 1) == 1};
    const size_t count = between(1, 5);
    for (size_t k = 0; k < count; ++k) {
      const std::string name = "network" + std::to_string(k);
      facts.components.push_back(component(name, between(1, 60), between(1, 900), between(0, 2)));
      const size_t block = facts.components.back().first_block;
      facts.moments.push_back({block, "block", name, between(0, 5000)});
    }
    PlanningWishes wishes{.budget_bytes = between(100, 60000)};
    RunMemoryPlan plan = plan_memory(facts, wishes);
    EXPECT_EQ(plan.fits, plan.peak_bytes <= *wishes.budget_bytes);
    // The least that it names can be kept.
    if (!plan.fits) EXPECT_TRUE(plan_memory(facts, {.budget_bytes = plan.peak_bytes}).fits);
  }
}

TEST(Groups, FollowTheOrderOfUse) {
  PlannedComponent unet = component("unet", 3, 100, 0);
  Residency groups = cut_into_groups(unet.uses, Offload::group, 2);
  ASSERT_EQ(groups.groups.size(), 2U);
  EXPECT_EQ(groups.groups[0].name, "blocks.0");
  EXPECT_EQ(groups.groups[0].params, (std::vector<size_t>{0, 1, 2, 3}));
  EXPECT_EQ(groups.groups[1].params, (std::vector<size_t>{4, 5}));
  EXPECT_EQ(groups.stays_bytes, 1U);
  EXPECT_EQ(groups.moved_bytes(), 600U);
  Residency leaves = cut_into_groups(unet.uses, Offload::leaf, 0);
  EXPECT_EQ(leaves.groups.size(), 6U);
  EXPECT_EQ(leaves.groups[1].name, "blocks.0.to_out");
}

}  // namespace
}  // namespace omnirt
