#pragma once
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/bpe.hpp"

namespace omnirt::text {

// What SentencePiece's vocabularies have in place of a space.
inline constexpr std::string_view underline_for_space = "\u2581";
// Text with it in place of each space.
std::string with_underlines(std::string_view text);
// A text as one word: merges go across its spaces.
std::vector<std::string_view> as_one_word(std::string_view text);

// Byte-pair encoding over characters, as SentencePiece has it (Kudo & Richardson 2018, arXiv
// 1808.06226; Hugging Face's tokenizers, BPE with byte_fallback and fuse_unk): a word starts as one
// symbol a character. One that the vocabulary lacks is its bytes' tokens ("<0xE2>"), or, where it
// lacks those, `unknown`, once for several in a row.
class CharacterBpe final : public BpeEncoder {
 public:
  // Throws InvalidFile, naming `where`, when bytes are lacking and `unknown` is none (-1), or as
  // PairMerges.
  CharacterBpe(const Vocabulary& vocabulary, const Merges& merges, int32_t unknown,
               const std::string& where);

  // Of valid UTF-8.
  void encode(std::string_view word, std::vector<Symbol>& out) const override;

 private:
  void append_bytes(std::string_view character, std::vector<Symbol>& out) const;

  std::unordered_map<char32_t, int32_t> characters_;
  std::array<int32_t, 256> bytes_{};  // -1: the vocabulary has none
  int32_t unknown_;
  PairMerges merges_;
};

}  // namespace omnirt::text
