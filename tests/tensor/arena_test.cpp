#include "tensor/arena.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "tensor/memory.hpp"

namespace omnirt::testing {
namespace {

TEST(BlockMap, UsesTheSmallestFreePlaceThatFits) {
  BlockMap map;
  size_t large = map.take(1000), first = map.take(64), small = map.take(128);
  size_t last = map.take(64);
  EXPECT_LT(first, small);
  map.free(large);
  map.free(small);
  EXPECT_EQ(map.take(100), small);
  EXPECT_EQ(map.take(100), large);
  EXPECT_GT(last, small);
}

TEST(BlockMap, JoinsNeighboursThatAreFree) {
  BlockMap map;
  size_t a = map.take(64), b = map.take(64), c = map.take(64);
  map.take(64);
  map.free(a);
  map.free(c);
  EXPECT_EQ(map.holes().size(), 2u);
  map.free(b);
  EXPECT_EQ(map.holes().size(), 1u);
  EXPECT_EQ(map.take(192), a);
}

TEST(BlockMap, GrowsAFreePlaceAtItsEndInsteadOfLeavingItBehind) {
  BlockMap map;
  map.take(64);
  size_t tail = map.take(64);
  map.free(tail);
  EXPECT_EQ(map.take(640), tail);
  EXPECT_EQ(map.reach(), 64u + 640u);
  map.free(tail);
  map.cut_tail();
  EXPECT_EQ(map.reach(), 64u);
}

TEST(BlockMap, RepeatsItsPlacesForTheSameCalls) {
  auto walk = [] {
    BlockMap map;
    std::mt19937 random(7);
    std::vector<size_t> held, places;
    for (int i = 0; i < 2000; ++i) {
      if (held.size() > 20) {
        size_t at = random() % held.size();
        map.free(held[at]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
      }
      held.push_back(map.take(1 + random() % 100000));
      places.push_back(held.back());
    }
    for (size_t block : held) map.free(block);
    EXPECT_EQ(map.live(), 0u);
    EXPECT_EQ(map.holes().size(), 1u);
    return places;
  };
  EXPECT_EQ(walk(), walk());
}

TEST(Arena, GivesBlocksThatDoNotOverlap) {
  Arena arena(8 << 20);
  std::mt19937 random(3);
  std::vector<std::pair<unsigned char*, size_t>> held;
  for (int i = 0; i < 500; ++i) {
    size_t bytes = 1 + random() % 100000;
    auto* block = static_cast<unsigned char*>(arena.allocate(bytes));
    ASSERT_NE(block, nullptr);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % BlockMap::alignment, 0u);
    std::memset(block, i % 251, bytes);
    held.emplace_back(block, bytes);
    if (held.size() < 30) continue;
    auto [gone, size] = held.front();
    for (size_t k = 1; k < size; ++k) ASSERT_EQ(gone[k], gone[0]);
    arena.free(gone);
    arena.trim();
    held.erase(held.begin());
  }
}

TEST(Arena, AnswersWithNullWhereItIsFull) {
  Arena arena(2 << 20);
  EXPECT_EQ(arena.allocate(64 << 20), nullptr);
  void* block = arena.allocate(2 << 20);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(arena.allocate(64), nullptr);
  arena.free(block);
  EXPECT_NE(arena.allocate(1 << 20), nullptr);
}

TEST(MemoryPlan, CountsTensorsWithoutStorageWhileTheyLive) {
  auto meta = at::TensorOptions().dtype(at::kFloat).device(at::kMeta);
  MemoryPlan plan;
  at::Tensor kept = at::empty({1000}, meta);
  {
    at::Tensor passing = at::empty({1 << 20}, meta);
    MemoryPlan::Pause weights;
    at::Tensor left_out = at::empty({1 << 22}, meta);
    at::Tensor view = passing.view({1 << 10, 1 << 10}).narrow(0, 0, 5);
  }
  EXPECT_EQ(plan.blocks().live(), BlockMap::rounded(4000));
  EXPECT_EQ(plan.blocks().peak(), BlockMap::rounded(4000) + (size_t{4} << 20));
}

TEST(MemoryPlan, IsWhatTheSameTensorsTake) {
  watch_tensor_memory();
  auto walk = [](const at::TensorOptions& options) {
    std::vector<at::Tensor> held;
    for (int64_t i = 1; i < 40; ++i) {
      held.push_back(at::empty({i * 40000}, options));
      if (i % 3 == 0) held.erase(held.begin());
    }
  };
  auto options = at::TensorOptions().dtype(at::kFloat);
  size_t planned;
  {
    MemoryPlan plan;
    walk(options.device(at::kMeta));
    planned = plan.blocks().peak();
  }
  reset_tensor_peak();
  size_t before = tensor_memory().current_bytes;
  walk(options);
  EXPECT_EQ(tensor_memory().peak_bytes - before, planned);
}

}  // namespace
}  // namespace omnirt::testing
