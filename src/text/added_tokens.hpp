#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace omnirt::text {

// What a tokenizer's files may ask for: each byte of an added token takes a node of the matcher.
inline constexpr size_t max_added_tokens = 4096;
inline constexpr size_t max_added_bytes = 256;
// Throws InvalidFile, naming `where`, when the token is longer than max_added_bytes.
void check_added_bytes(const std::string& content, const std::string& where);

// A token that is found in the text as a whole, before any splitting.
struct AddedToken {
  std::string content;
  bool special = false;
  std::optional<bool> normalized;  // unset: when it is not special
  std::optional<int64_t> id;       // as a file declares it
  bool bare = false;               // given as a string, without flags

  // Whether it is looked for in normalized text (in any case, say) instead of the text as given.
  bool in_normalized_text() const { return normalized.value_or(!special); }
  bool operator==(const AddedToken&) const = default;
};

// Finds added tokens: leftmost first, the longest of those that begin at one place.
class TokenMatcher {
 public:
  struct Match {
    size_t begin, end;  // bytes of the text; begin == end when nothing was found
    int32_t id;
  };

  void add(std::string_view content, int32_t id);
  // The first match at or after `from`.
  Match find(std::string_view text, size_t from) const;

 private:
  struct Node {
    std::map<unsigned char, uint32_t> next;
    int32_t id = -1;
  };
  std::vector<Node> nodes_{1};  // a tree over the contents' bytes; [0] is its root
};

}  // namespace omnirt::text
