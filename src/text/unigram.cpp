#include "text/unigram.hpp"

#include <algorithm>
#include <numeric>

#include "base/ensure.hpp"

namespace omnirt::text {
namespace {

// What an unknown character costs on top of the worst piece.
constexpr double unk_penalty = 10.0;

size_t character_bytes(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end - at;
}

}  // namespace

Unigram::Unigram(std::vector<UnigramPiece> pieces, int64_t unk_id)
    : pieces_(std::move(pieces)), unk_id_(unk_id) {
  ensure(unk_id >= 0 && unk_id < static_cast<int64_t>(pieces_.size()),
         "unknown's id {} is not one of {}", unk_id, pieces_.size());
  std::vector<uint32_t> order(pieces_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {},
                           [&](uint32_t id) -> const std::string& { return pieces_[id].text; });
  for (size_t i = 0; i < order.size(); ++i) {
    bool repeated = i + 1 < order.size() && pieces_[order[i]].text == pieces_[order[i + 1]].text;
    if (!repeated && !pieces_[order[i]].text.empty()) sorted_.push_back(order[i]);
  }
  double least = std::ranges::min(pieces_, {}, &UnigramPiece::score).score;
  unk_score_ = least - unk_penalty;
}

int64_t Unigram::find(std::string_view piece) const {
  auto text_of = [&](uint32_t id) -> std::string_view { return pieces_[id].text; };
  auto it = std::ranges::lower_bound(sorted_, piece, {}, text_of);
  return it != sorted_.end() && text_of(*it) == piece ? static_cast<int64_t>(*it) : -1;
}

bool Unigram::take_pieces(std::string_view word, size_t begin, size_t character,
                          std::vector<Step>& best, size_t& steps) const {
  bool single = false;
  // The pieces that begin with word[begin, end) are adjacent; the range narrows byte by byte.
  auto low = sorted_.begin(), high = sorted_.end();
  for (size_t end = begin + 1; end <= word.size() && low != high && steps > 0; ++end, --steps) {
    size_t depth = end - begin - 1;
    auto byte_of = [&](uint32_t id) -> int {
      const std::string& text = pieces_[id].text;
      return depth < text.size() ? static_cast<unsigned char>(text[depth]) : -1;
    };
    int byte = static_cast<unsigned char>(word[end - 1]);
    low = std::ranges::lower_bound(low, high, byte, {}, byte_of);
    high = std::ranges::upper_bound(low, high, byte, {}, byte_of);
    if (low == high || pieces_[*low].text.size() != end - begin) continue;
    double score = pieces_[*low].score + best[begin].score;
    if (best[end].from == none || score > best[end].score) best[end] = {*low, score, begin};
    single |= end - begin == character;
  }
  return single;
}

bool Unigram::encode(std::string_view word, std::vector<Token>& out, size_t& steps) const {
  if (word.empty()) return true;
  std::vector<Step> best(word.size() + 1);
  for (size_t begin = 0; begin < word.size();) {
    size_t character = character_bytes(word, begin);
    bool single = take_pieces(word, begin, character, best, steps);
    if (steps == 0) return false;
    if (!single) {
      Step& target = best[begin + character];
      double score = unk_score_ + best[begin].score;
      if (target.from == none || score > target.score) target = {unk_id_, score, begin};
    }
    begin += character;
  }
  std::vector<Token> tokens = backwards(word, best);
  out.insert(out.end(), tokens.rbegin(), tokens.rend());
  return true;
}

std::vector<Unigram::Token> Unigram::backwards(std::string_view word,
                                               const std::vector<Step>& best) const {
  std::vector<Token> tokens;
  size_t unknown_end = none;
  auto close = [&](size_t begin) {
    if (unknown_end == none) return;
    // A run of unknown characters is one string, and looked up as one.
    int64_t known = find(word.substr(begin, unknown_end - begin));
    tokens.push_back({known >= 0 ? known : unk_id_, begin});
    unknown_end = none;
  };
  for (size_t end = word.size(); end > 0;) {
    const Step& step = best[end];
    if (step.id == unk_id_) {
      if (unknown_end == none) unknown_end = end;
    } else {
      close(end);
      tokens.push_back({step.id, step.from});
    }
    end = step.from;
  }
  close(0);
  return tokens;
}

}  // namespace omnirt::text
