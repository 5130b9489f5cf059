#include "text/cut_prompt.hpp"

#include <algorithm>

#include "base/ensure.hpp"
#include "text/prompt_text.hpp"

namespace omnirt::text {

CutPrompt cut_prompt(const ByteLevelBpe& bpe, std::string_view text, int64_t length,
                     const Padding& padding) {
  ensure(length >= 1, "{} ids leave no room for a text", length);
  std::vector<ByteLevelBpe::Token> found = bpe.tokens(text);
  const auto room = static_cast<size_t>(length);
  CutPrompt result{{}, text.size()};
  TokenizedPrompt& prompt = result.prompt;
  for (size_t i = 0; i < std::min(room, found.size()); ++i) prompt.ids.push_back(found[i].id);
  prompt.used = static_cast<int64_t>(prompt.ids.size());
  if (padding.in_front) prompt.first = length - prompt.used;
  prompt.ids.insert(padding.in_front ? prompt.ids.begin() : prompt.ids.end(),
                    room - prompt.ids.size(), padding.id);
  if (found.size() > room) result.at = bpe.begin_of(found[room], text);
  return result;
}

std::string cut_of(const CutPrompt& made, std::string_view text, size_t before) {
  const size_t at = std::max(made.at, before) - before;
  return at < text.size() ? std::string(without_space(text.substr(at))) : "";
}

}  // namespace omnirt::text
