#include "io/read_rates.hpp"
#include "source_paths.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace omnirt::io {
namespace {
using ::testing::HasSubstr;

constexpr uint64_t mib = uint64_t{1} << 20;

// A disk of so many MiB per millisecond, by a clock that only reading moves.
struct Scripted final : ReadSource {
  uint64_t size = 1000 * mib;
  bool refuses_direct = false;
  double disk_ms = 4, cache_ms = 0.5;  // for a MiB
  std::set<uint64_t> in_cache;         // offsets
  double now = 0;
  uint64_t direct_reads = 0, reads = 0;

  uint64_t bytes() const override { return size; }
  bool read_direct(uint64_t, std::span<std::byte>) override {
    if (refuses_direct) return false;
    now += disk_ms;
    ++direct_reads;
    return true;
  }
  bool read(uint64_t offset, std::span<std::byte>) override {
    now += in_cache.contains(offset) ? cache_ms : disk_ms;
    ++reads;
    return true;
  }
  std::optional<bool> is_cached(uint64_t offset, uint64_t) override {
    return in_cache.contains(offset);
  }
  ReadRates measured(const ReadBounds& bounds = {}) {
    return measure_read_rates(*this, bounds, [this] { return now; });
  }
};

TEST(ReadRates, AreMeasuredPastThePageCache) {
  Scripted disk;
  const ReadRates rates = disk.measured();
  ASSERT_TRUE(rates.disk);
  EXPECT_DOUBLE_EQ(*rates.disk, mib / 4e-3);
  EXPECT_FALSE(rates.cached);
  EXPECT_EQ(rates.cached_share, 0);
  EXPECT_EQ(disk.direct_reads, 25u);  // 100 ms
}

TEST(ReadRates, StayWithinTheirBoundOfBytes) {
  Scripted disk;
  disk.disk_ms = 0.01;
  disk.measured({.bytes = 8 * mib, .ms = 100});
  EXPECT_EQ(disk.direct_reads, 8u);
}

TEST(ReadRates, FallBackToWhatIsNotInThePageCache) {
  Scripted disk;
  disk.refuses_direct = true;
  disk.size = 4 * mib;
  disk.in_cache = {0, 2 * mib};
  const ReadRates rates = disk.measured();
  ASSERT_TRUE(rates.disk && rates.cached);
  EXPECT_DOUBLE_EQ(*rates.disk, mib / 4e-3);
  EXPECT_DOUBLE_EQ(*rates.cached, mib / 0.5e-3);
  EXPECT_EQ(rates.cached_share, 0.5);
  EXPECT_THAT(rates.note, HasSubstr("through the page cache"));
}

TEST(ReadRates, SayWhereTheDiskCannotBeMeasured) {
  Scripted disk;
  disk.refuses_direct = true;
  disk.size = mib / 2;
  disk.in_cache = {0};
  const ReadRates rates = disk.measured();
  EXPECT_FALSE(rates.disk);
  EXPECT_TRUE(rates.cached);
  EXPECT_THAT(rates.note, HasSubstr("not measured"));
}

TEST(ReadRates, OfAFileAreThereAndOfNoneAreNot) {
  EXPECT_EQ(open_read_source("/nowhere/at/all"), nullptr);
  EXPECT_EQ(open_read_source("/"), nullptr);
  auto file = open_read_source(source_path("docs/design.md").string());
  ASSERT_TRUE(file);
  double ticks = 0;
  const ReadRates rates = measure_read_rates(*file, {}, [&] { return ticks += 1; });
  EXPECT_TRUE(rates.disk || rates.cached);
}

}  // namespace
}  // namespace omnirt::io
