#include "base/keyed_hash.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace omnirt {
namespace {

uint64_t shifted(uint64_t value) {
  return value ^ (value >> 47);
}

// Texts of 16 printable bytes with one hash by libstdc++'s std::hash: its rounds are run backwards
// from a common end.
std::vector<std::string> texts_of_one_std_hash(size_t count) {
  constexpr uint64_t multiplier = 0xc6a4a7935bd1e995;
  uint64_t inverse = multiplier;
  for (int i = 0; i < 6; ++i) inverse *= 2 - multiplier * inverse;
  const uint64_t start = 0xc70f6907 ^ (16 * multiplier), goal = 0x123456789abcdef * inverse;
  std::vector<std::string> texts;
  for (uint32_t counter = 0; texts.size() < count; ++counter) {
    uint32_t letters = counter * 2654435761U;
    uint64_t first = 0;
    for (int i = 0; i < 8; ++i) first |= uint64_t{97 + ((letters >> (4 * i)) & 15)} << (8 * i);
    uint64_t after = (start ^ (shifted(first * multiplier) * multiplier)) * multiplier;
    uint64_t second = shifted((goal ^ after) * inverse) * inverse;
    std::string text(16, '\0');
    std::memcpy(text.data(), &first, 8);
    std::memcpy(text.data() + 8, &second, 8);
    texts.push_back(std::move(text));
  }
  return texts;
}

TEST(KeyedHash, TellsTextsApartThatStdHashDoesNot) {
  std::vector<std::string> texts = texts_of_one_std_hash(2000);
  std::set<size_t> plain;
  std::set<uint64_t> keyed;
  for (const std::string& text : texts) {
    plain.insert(std::hash<std::string>{}(text));
    keyed.insert(keyed_hash(text));
  }
#ifdef __GLIBCXX__
  EXPECT_EQ(plain.size(), 1u);
#endif
  EXPECT_EQ(keyed.size(), texts.size());
}

TEST(KeyedHash, IsEqualForEqualTextsAndDependsOnEveryByteAndTheLength) {
  std::set<uint64_t> seen;
  for (size_t length = 0; length < 40; ++length) {
    std::string text(length, '\0');
    EXPECT_EQ(keyed_hash(text), keyed_hash(std::string(text)));
    EXPECT_TRUE(seen.insert(keyed_hash(text)).second) << length;
    for (size_t i = 0; i < length; ++i) {
      std::string other = text;
      other[i] = 'x';
      EXPECT_TRUE(seen.insert(keyed_hash(other)).second) << length << " " << i;
    }
  }
}

// Numbers whose products with a fixed multiplier end in one place: what a table with Fibonacci
// hashing would be filled with.
TEST(KeyedHash, SpreadsNumbersThatAFixedMultiplierGathers) {
  constexpr uint64_t multiplier = 0x9E3779B97F4A7C15, mask = (1 << 19) - 1;
  std::map<uint64_t, int> places;
  int numbers = 0, most = 0;
  for (uint64_t n = 1; n < (1 << 18); ++n) {
    if (((n * multiplier) >> 32 & mask) >= 1100) continue;
    ++numbers;
    most = std::max(most, ++places[keyed_hash(n) & mask]);
  }
  EXPECT_GT(numbers, 400);
  EXPECT_LT(most, 6);
}

}  // namespace
}  // namespace omnirt
