#include "engine/component_cache.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace omnirt {
namespace {

ComponentKey key(const std::string& folder) {
  ComponentKey made;
  made.folder = {.name = "unet", .class_name = "UNet2DConditionModel", .folder = folder};
  made.device = {"cpu", 0};
  return made;
}

std::shared_ptr<LoadedComponent> component() {
  return std::make_shared<LoadedComponent>();
}

TEST(ComponentCache, GivesTheSameComponentForTheSameFacts) {
  ComponentCache cache;
  EXPECT_EQ(cache.find(key("a")), nullptr);
  auto made = cache.keep(key("a"), component());
  EXPECT_EQ(cache.find(key("a")), made);
  EXPECT_EQ(cache.keep(key("a"), component()), made);  // a second thread's is dropped
  EXPECT_EQ(cache.size(), 1u);
}

TEST(ComponentCache, TellsComponentsApartByEveryFact) {
  const ComponentKey base = key("a");
  std::vector<ComponentKey> others(15, base);
  others[0].folder.folder = "b";
  others[1].folder.name = "vae";
  others[2].folder.class_name = "AutoencoderKL";
  others[3].folder.config = Json{{"sample_size", 64}};
  others[4].folder.original = OriginalPart{"a", "model.", "ldm"};
  others[5].folder.original = OriginalPart{"a", "model.diffusion_model.", "ldm"};
  others[6].folder.config_file = "a/config.json";
  others[7].device = {"cuda", 0};
  others[8].facts.dtype = at::kBFloat16;
  others[9].facts.pack = ops::PackPolicy::never;
  others[10].facts.quantization = ops::Quantization::int8;
  others[11].facts.precision = MatmulPrecision::highest;
  others[12].upcasts = true;
  others[13].storage = StorageType::bf16;
  others[14].device = {"cpu", 1};
  ComponentCache cache;
  std::vector<std::shared_ptr<LoadedComponent>> held{cache.keep(base, component())};
  for (const ComponentKey& other : others) {
    EXPECT_EQ(cache.find(other), nullptr);
    held.push_back(cache.keep(other, component()));
  }
  EXPECT_EQ(cache.size(), 16u);
}

TEST(ComponentCache, DropsTheIdleOneThatWasUsedLongestAgo) {
  ComponentCache cache;
  for (size_t i = 0; i < ComponentCache::most_idle; ++i)
    cache.keep(key(fmt::format("{}", i)), component());
  EXPECT_TRUE(cache.find(key("0")));    // used again
  cache.keep(key("new"), component());  // in use while it is returned
  EXPECT_EQ(cache.size(), ComponentCache::most_idle + 1);
  cache.keep(key("newer"), component());
  EXPECT_EQ(cache.size(), ComponentCache::most_idle + 1);
  EXPECT_TRUE(cache.find(key("0")));
  EXPECT_FALSE(cache.find(key("1")));
  for (int i = 0; i < 100; ++i) cache.keep(key(fmt::format("more {}", i)), component());
  // What was just returned counts as idle once its run lets go of it.
  EXPECT_LE(cache.size(), ComponentCache::most_idle + 1);
}

TEST(ComponentCache, KeepsWhatIsInUseHoweverMuchThatIs) {
  ComponentCache cache;
  std::vector<std::shared_ptr<LoadedComponent>> used;
  for (size_t i = 0; i < 2 * ComponentCache::most_idle; ++i)
    used.push_back(cache.keep(key(fmt::format("{}", i)), component()));
  EXPECT_EQ(cache.size(), 2 * ComponentCache::most_idle);
  for (size_t i = 0; i < used.size(); ++i)
    EXPECT_EQ(cache.find(key(fmt::format("{}", i))), used[i]);
}

TEST(ComponentCache, MakesRoomFromIdleComponentsOnly) {
  ComponentCache cache;
  auto used = cache.keep(key("used"), component());
  for (int i = 0; i < 3; ++i) cache.keep(key(fmt::format("{}", i)), component());
  uint64_t left = 5;  // as each component that goes frees one more
  cache.make_room({"cpu", 0}, 7, [&] { return left++; });
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_FALSE(cache.find(key("0")));
  EXPECT_TRUE(cache.find(key("2")));
  cache.make_room({"cpu", 0}, 1000, [] { return uint64_t{0}; });
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(cache.find(key("used")), used);
}

}  // namespace
}  // namespace omnirt
