#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/vocabulary.hpp"

namespace omnirt::text {

using Merges = std::vector<std::pair<std::string, std::string>>;

// The character that represents a byte in a byte-level vocabulary (GPT-2, encoder.py): printable
// Latin-1 represents itself, U+0100 and on the other bytes.
const std::array<std::string, 256>& byte_symbols();

// Byte-pair encoding (Sennrich et al. 2016, arXiv 1508.07909) of what a class of tokenizers begins
// with: the pair with the lowest rank, leftmost first, is merged until none is left.
class PairMerges {
 public:
  struct Symbol {
    int32_t id;
    uint32_t bytes;  // of the text
  };

  // Throws InvalidFile, naming `where`, when a merge's parts or outcome are not in the vocabulary.
  PairMerges(const Vocabulary& vocabulary, const Merges& merges, const std::string& where);
  PairMerges() = default;  // of no merges, to be assigned to; must not be applied

  // What merging `symbols` gives is appended to `out`. O(n log n).
  void apply(const std::vector<Symbol>& symbols, std::vector<Symbol>& out) const;

 private:
  struct Merge {
    uint64_t pair;
    uint32_t rank;
    int32_t id;
  };
  static uint64_t pair_of(int32_t left, int32_t right);
  size_t slot_of(uint64_t pair) const;
  void add(uint64_t pair, uint32_t rank, int32_t id);
  const Merge* find(int32_t left, int32_t right) const;

  std::vector<Merge> table_;  // open addressing; its size is a power of two
};

// What makes symbols of words.
class BpeEncoder {
 public:
  using Symbol = PairMerges::Symbol;
  virtual ~BpeEncoder() = default;
  // The word's symbols are appended to `out`. O(n log n).
  virtual void encode(std::string_view word, std::vector<Symbol>& out) const = 0;
};

// Byte-level byte-pair encoding: a word starts as one symbol a byte, the last one with a suffix
// where the vocabulary has one (CLIP's "</w>").
class Bpe final : public BpeEncoder {
 public:
  // `unknown` (-1: none) replaces each byte that the vocabulary lacks.
  // Throws InvalidFile when the vocabulary lacks a byte and `unknown` is none (naming
  // `vocabulary_file`), or as PairMerges (naming `merges_file`).
  Bpe(const Vocabulary& vocabulary, const Merges& merges, int32_t unknown,
      const std::string& vocabulary_file, const std::string& merges_file, std::string_view suffix);

  void encode(std::string_view word, std::vector<Symbol>& out) const override;

 private:
  void map_bytes(const Vocabulary& vocabulary, int32_t unknown, const std::string& where,
                 std::string_view suffix);

  std::array<int32_t, 256> inner_{};  // by byte, inside a word
  std::array<int32_t, 256> last_{};   // by byte, at its end
  PairMerges merges_;
};

}  // namespace omnirt::text
