#include "text/bpe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace omnirt::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view suffix = "</w>";

// Every byte, inside and at the end of a word, and `more` after them from id 512.
Vocabulary vocabulary_with(std::initializer_list<const char*> more) {
  Vocabulary vocabulary;
  int64_t id = 0;
  for (const std::string& symbol : byte_symbols()) vocabulary.add(symbol, id++, "vocab");
  for (const std::string& symbol : byte_symbols()) vocabulary.add(symbol + "</w>", id++, "vocab");
  for (const char* token : more) vocabulary.add(token, id++, "vocab");
  return vocabulary;
}

std::vector<std::string> split(const Bpe& bpe, const Vocabulary& vocabulary,
                               std::string_view word) {
  std::vector<Bpe::Symbol> symbols;
  bpe.encode(word, symbols);
  std::vector<std::string> tokens;
  size_t bytes = 0;
  for (const Bpe::Symbol& symbol : symbols) {
    tokens.push_back(*vocabulary.token(symbol.id));
    bytes += symbol.bytes;
  }
  EXPECT_EQ(bytes, word.size());
  return tokens;
}

TEST(Bpe, MergesTheLowestRankFirst) {
  Vocabulary vocabulary = vocabulary_with({"bc", "ab", "abc</w>", "bc</w>"});
  Bpe bpe(vocabulary, {{"b", "c</w>"}, {"a", "b"}, {"a", "bc</w>"}}, -1, "vocab", "merges", suffix);
  EXPECT_THAT(split(bpe, vocabulary, "abc"), ElementsAre("abc</w>"));
  EXPECT_THAT(split(bpe, vocabulary, "abab"), ElementsAre("ab", "a", "b</w>"));
  EXPECT_THAT(split(bpe, vocabulary, "c"), ElementsAre("c</w>"));
}

TEST(Bpe, MergesTheLeftmostOfEqualPairs) {
  Vocabulary vocabulary = vocabulary_with({"aa"});
  Bpe bpe(vocabulary, {{"a", "a"}}, -1, "vocab", "merges", suffix);
  EXPECT_THAT(split(bpe, vocabulary, "aaaaab"), ElementsAre("aa", "aa", "a", "b</w>"));
}

TEST(Bpe, RefusesAMergeOutsideTheVocabulary) {
  Vocabulary vocabulary = vocabulary_with({"ab"});
  try {
    Bpe bpe(vocabulary, {{"a", "b"}, {"b", "c"}}, -1, "vocab", "x/merges.txt", suffix);
    FAIL() << "no error";
  } catch (const InvalidFile& error) {
    EXPECT_THAT(error.what(), HasSubstr("x/merges.txt"));
    EXPECT_THAT(error.what(), HasSubstr("merge 2 of 2: \"bc\" is not in the vocabulary"));
  }
}

TEST(Bpe, NeedsAnUnknownTokenWhenAByteIsMissing) {
  Vocabulary vocabulary;
  vocabulary.add("?", 0, "vocab");
  vocabulary.add("a", 1, "vocab");
  vocabulary.add("a</w>", 2, "vocab");
  EXPECT_THROW(Bpe(vocabulary, {}, -1, "vocab", "merges", suffix), InvalidFile);
  Bpe bpe(vocabulary, {}, 0, "vocab", "merges", suffix);
  EXPECT_THAT(split(bpe, vocabulary, "abba"), ElementsAre("a", "?", "?", "a</w>"));
}

}  // namespace
}  // namespace omnirt::text
