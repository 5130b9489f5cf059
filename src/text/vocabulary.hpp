#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/keyed_hash.hpp"

namespace omnirt::text {

// Five times CLIP's; bounds what a hostile file can make us hold, and for how long.
inline constexpr int64_t max_vocabulary = 1 << 18;

// Tokens and their ids, one to one. Ids may leave gaps.
class Vocabulary {
 public:
  Vocabulary() = default;
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  void reserve(size_t tokens) { ids_.reserve(tokens); }
  // Throws InvalidFile, naming `where`, when the id is out of range or the token or the id is there
  // already.
  void add(std::string token, int64_t id, const std::string& where);

  // The token's id, or -1.
  int32_t find(std::string_view token) const;
  // The token with this id, or null.
  const std::string* token(int64_t id) const;
  // How many tokens there are.
  size_t count() const { return ids_.size(); }
  // One past the largest id: the rows that an embedding table needs.
  int64_t rows() const { return static_cast<int64_t>(tokens_.size()); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return keyed_hash(text); }
  };
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
  std::vector<const std::string*> tokens_;  // keys of ids_, by id
};

}  // namespace omnirt::text
