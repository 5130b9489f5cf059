#include "text/bpe.hpp"

#include <fmt/format.h>

#include <bit>
#include <queue>

#include "base/error.hpp"
#include "base/keyed_hash.hpp"
#include "io/utf8.hpp"

namespace omnirt::text {
namespace {

constexpr uint64_t empty_slot = ~uint64_t{0};

// A symbol of a word under work: a doubly linked list in an array.
struct Node {
  int32_t id;
  uint32_t bytes;
  int32_t previous, next;
  bool gone = false;  // merged into the one before
};

struct Candidate {
  uint32_t rank;
  int32_t at;
  int32_t id;  // what the merge makes
  bool operator<(const Candidate& other) const {
    // The queue returns the greatest: the lowest rank, then the leftmost.
    return rank != other.rank ? rank > other.rank : at > other.at;
  }
};

std::array<std::string, 256> make_byte_symbols() {
  std::array<std::string, 256> symbols;
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    io::append_utf8(symbols[byte], printable ? char32_t{byte} : next++);
  }
  return symbols;
}

int32_t find_part(const Vocabulary& vocabulary, std::string_view token, const Merges& merges,
                  size_t rank, const std::string& where) {
  int32_t id = vocabulary.find(token);
  if (id < 0) {
    const auto& [left, right] = merges[rank];
    throw InvalidFile({where, fmt::format("{} {}", left, right),
                       fmt::format("merge {} of {}: \"{}\" is not in the vocabulary", rank + 1,
                                   merges.size(), token),
                       "take vocabulary and merges from the same tokenizer"});
  }
  return id;
}

}  // namespace

const std::array<std::string, 256>& byte_symbols() {
  static const std::array<std::string, 256> symbols = make_byte_symbols();
  return symbols;
}

Bpe::Bpe(const Vocabulary& vocabulary, const Merges& merges, int32_t unknown,
         const std::string& vocabulary_file, const std::string& merges_file,
         std::string_view suffix) {
  map_bytes(vocabulary, unknown, vocabulary_file, suffix);
  merges_ = PairMerges(vocabulary, merges, merges_file);
}

PairMerges::PairMerges(const Vocabulary& vocabulary, const Merges& merges,
                       const std::string& where) {
  table_.assign(std::bit_ceil(2 * merges.size() + 2), Merge{empty_slot, 0, 0});
  std::string whole;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    whole.assign(left).append(right);
    int32_t left_id = find_part(vocabulary, left, merges, rank, where);
    int32_t right_id = find_part(vocabulary, right, merges, rank, where);
    int32_t whole_id = find_part(vocabulary, whole, merges, rank, where);
    add(pair_of(left_id, right_id), static_cast<uint32_t>(rank), whole_id);
  }
}

void Bpe::map_bytes(const Vocabulary& vocabulary, int32_t unknown, const std::string& where,
                    std::string_view suffix) {
  auto id_of = [&](const std::string& symbol) {
    int32_t id = vocabulary.find(symbol);
    if (id < 0 && unknown < 0) {
      throw InvalidFile({where, symbol, "the vocabulary has no entry for this byte",
                         "add it, or name an unk_token that the vocabulary has"});
    }
    return id < 0 ? unknown : id;
  };
  for (size_t byte = 0; byte < 256; ++byte) {
    inner_[byte] = id_of(byte_symbols()[byte]);
    last_[byte] = id_of(byte_symbols()[byte] + std::string(suffix));
  }
}

uint64_t PairMerges::pair_of(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

size_t PairMerges::slot_of(uint64_t pair) const {
  size_t mask = table_.size() - 1;
  size_t slot = keyed_hash(pair) & mask;
  while (table_[slot].pair != empty_slot && table_[slot].pair != pair) slot = (slot + 1) & mask;
  return slot;
}

// A pair that is listed twice counts by its last place, as in the reference.
void PairMerges::add(uint64_t pair, uint32_t rank, int32_t id) {
  table_[slot_of(pair)] = {pair, rank, id};
}

const PairMerges::Merge* PairMerges::find(int32_t left, int32_t right) const {
  const Merge& merge = table_[slot_of(pair_of(left, right))];
  return merge.pair == empty_slot ? nullptr : &merge;
}

void Bpe::encode(std::string_view word, std::vector<Symbol>& out) const {
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  for (size_t i = 0; i < word.size(); ++i) {
    auto byte = static_cast<unsigned char>(word[i]);
    symbols.push_back({i + 1 == word.size() ? last_[byte] : inner_[byte], 1});
  }
  merges_.apply(symbols, out);
}

void PairMerges::apply(const std::vector<Symbol>& symbols, std::vector<Symbol>& out) const {
  if (symbols.empty()) return;
  const auto size = static_cast<int32_t>(symbols.size());
  std::vector<Node> nodes(symbols.size());
  for (int32_t i = 0; i < size; ++i) {
    const Symbol& symbol = symbols[static_cast<size_t>(i)];
    nodes[i] = {symbol.id, symbol.bytes, i - 1, i + 1 == size ? -1 : i + 1};
  }
  std::priority_queue<Candidate> queue;
  auto consider = [&](int32_t at) {
    if (at < 0 || nodes[at].next < 0) return;
    const Merge* merge = find(nodes[at].id, nodes[nodes[at].next].id);
    if (merge) queue.push({merge->rank, at, merge->id});
  };
  for (int32_t i = 0; i < size; ++i) consider(i);
  while (!queue.empty()) {
    Candidate best = queue.top();
    queue.pop();
    Node& left = nodes[best.at];
    if (left.gone || left.next < 0) continue;
    Node& right = nodes[left.next];
    // The pair may have changed since it was queued; the reference compares what it makes.
    const Merge* merge = find(left.id, right.id);
    if (!merge || merge->id != best.id) continue;
    left.id = best.id;
    left.bytes += right.bytes;
    right.gone = true;
    left.next = right.next;
    if (left.next >= 0) nodes[left.next].previous = best.at;
    consider(left.previous);
    consider(best.at);
  }
  for (int32_t i = 0; i >= 0; i = nodes[i].next) out.push_back({nodes[i].id, nodes[i].bytes});
}

}  // namespace omnirt::text
