#include "blocks/captions.hpp"

#include <algorithm>

#include "io/utf8.hpp"
#include "text/unicode.hpp"

namespace omnirt::blocks {
namespace {

// What Python's str.strip takes away: white space, and the separators of ASCII.
bool is_stripped(char32_t c) {
  return (c >= 0x1C && c <= 0x1F) || text::char_class(c) == text::CharClass::space;
}

}  // namespace

std::string as_caption(const std::string& prompt) {
  if (io::find_invalid_utf8(prompt) != std::string::npos) return prompt;
  std::u32string lower;
  for (char32_t c : text::to_utf32(prompt)) text::append_lower(lower, c);
  auto begin = std::ranges::find_if_not(lower, is_stripped);
  auto end =
      std::find_if_not(lower.rbegin(), std::make_reverse_iterator(begin), is_stripped).base();
  std::string caption;
  for (auto it = begin; it != end; ++it) io::append_utf8(caption, *it);
  return caption;
}

void refuse_clean_caption(Checks& checks, const Config<bool>& clean_caption) {
  if (!checks[clean_caption]) return;
  checks.error({"config.clean_caption", "true", "cleaning captions is not implemented",
                "set it to false: prompts are lower-cased and stripped"});
}

}  // namespace omnirt::blocks
