#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace omnirt::text {

// A piece of a unigram model, and its log probability.
struct UnigramPiece {
  std::string text;
  double score = 0;
};

// The most likely pieces that a word is made of (Kudo 2018, arXiv 1804.10959), with the ids of
// Hugging Face's tokenizers (models/unigram): the path of the highest sum of scores; a character
// that is no piece costs more than any, and runs of them are one unknown token.
class Unigram {
 public:
  struct Token {
    int64_t id;
    size_t begin;  // byte of the word
  };

  // Of equal pieces the last counts; ids are the pieces' places. `unk_id` must be one of them.
  Unigram(std::vector<UnigramPiece> pieces, int64_t unk_id);

  // Appends the tokens of a word of valid UTF-8. O(length x longest piece): `steps` is how many
  // bytes of pieces may be compared, and is counted down; false where they do not suffice.
  bool encode(std::string_view word, std::vector<Token>& out, size_t& steps) const;
  // The id of a piece, or -1.
  int64_t find(std::string_view piece) const;
  size_t size() const { return pieces_.size(); }

 private:
  // Where the best path to a byte comes from.
  struct Step {
    int64_t id = 0;
    double score = 0;
    size_t from = none;
  };
  static constexpr size_t none = SIZE_MAX;
  // Takes every piece that begins at `begin`; false when none is one character long. Counts
  // `steps` down, and stops at 0.
  bool take_pieces(std::string_view word, size_t begin, size_t character, std::vector<Step>& best,
                   size_t& steps) const;
  std::vector<Token> backwards(std::string_view word, const std::vector<Step>& best) const;

  std::vector<UnigramPiece> pieces_;
  std::vector<uint32_t> sorted_;  // ids, by the pieces' bytes
  int64_t unk_id_;
  double unk_score_;
};

}  // namespace omnirt::text
