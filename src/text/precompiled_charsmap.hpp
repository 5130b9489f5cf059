#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace omnirt::text {

// Text as a sentencepiece model wants it, and where each byte of it comes from.
struct NormalizedText {
  std::string text;
  std::vector<uint32_t> origin;  // byte of the given text, one for each byte of `text`
};

// The replacements that a sentencepiece model contains (google/sentencepiece, builder.cc): a double
// array over the bytes of what is replaced, and the texts that replace it. Applied as Hugging
// Face's tokenizers do (normalizers/precompiled): to each grapheme as a whole where it is short and
// one is found, else to its characters.
class PrecompiledCharsmap {
 public:
  PrecompiledCharsmap() = default;  // changes nothing
  // `blob` as the model holds it. Throws InvalidFile, naming `where`, when it is malformed: when a
  // replacement is not a text of its own, or longer than 256 bytes.
  PrecompiledCharsmap(std::string_view blob, const std::string& where);

  // `text` is valid UTF-8 of less than 4 GB. Stops where the outcome is longer than `max_bytes`.
  NormalizedText normalize(std::string_view text, size_t max_bytes) const;

 private:
  void check_units(const std::string& where) const;
  // What replaces `part`; nothing where it stays. Of replacements that are prefixes of each other
  // the shortest counts.
  std::optional<std::string_view> replacement(std::string_view part) const;

  std::vector<uint32_t> units_;  // as Darts-clone lays them out
  std::string texts_;            // each ended by a zero byte
};

}  // namespace omnirt::text
