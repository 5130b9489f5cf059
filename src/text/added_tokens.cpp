#include "text/added_tokens.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace omnirt::text {

void check_added_bytes(const std::string& content, const std::string& where) {
  if (content.size() <= max_added_bytes) return;
  throw InvalidFile(
      {where, content,
       fmt::format("an added token of {} bytes; the limit is {}", content.size(), max_added_bytes),
       "give it a shorter name"});
}

void TokenMatcher::add(std::string_view content, int32_t id) {
  if (content.empty()) return;
  uint32_t node = 0;
  for (char c : content) {
    auto [step, added] = nodes_[node].next.try_emplace(static_cast<unsigned char>(c),
                                                       static_cast<uint32_t>(nodes_.size()));
    node = step->second;
    if (added) nodes_.emplace_back();
  }
  nodes_[node].id = id;
}

TokenMatcher::Match TokenMatcher::find(std::string_view text, size_t from) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    Match best{begin, begin, -1};
    uint32_t node = 0;
    for (size_t pos = begin; pos < text.size(); ++pos) {
      auto step = nodes_[node].next.find(static_cast<unsigned char>(text[pos]));
      if (step == nodes_[node].next.end()) break;
      node = step->second;
      if (nodes_[node].id >= 0) best = {begin, pos + 1, nodes_[node].id};
    }
    if (best.end > begin) return best;
  }
  return {text.size(), text.size(), -1};
}

}  // namespace omnirt::text
