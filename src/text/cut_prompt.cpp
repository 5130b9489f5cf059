#include "text/cut_prompt.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ensure.hpp"
#include "base/error.hpp"
#include "text/prompt_text.hpp"

namespace omnirt::text {

CutPrompt cut_prompt(const ByteLevelBpe& bpe, std::string_view text, int64_t length,
                     const Padding& padding) {
  ensure(length >= 0, "{} ids", length);
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

FramingIds framing_ids(const ByteLevelBpe& bpe, const TextFrame& frame, const std::string& where) {
  FramingIds ids;
  for (const std::string& token : frame.before)
    ids.before.push_back(bpe.named_id("post_processor", token, where));
  for (const std::string& token : frame.after)
    ids.after.push_back(bpe.named_id("post_processor", token, where));
  return ids;
}

CutPrompt cut_framed_prompt(const ByteLevelBpe& bpe, const FramingIds& frame, std::string_view text,
                            int64_t length, const Padding& padding) {
  const auto around = static_cast<int64_t>(frame.before.size() + frame.after.size());
  if (length < around) {
    throw InvalidRequest({"config.max_sequence_length", std::to_string(length),
                          fmt::format("the tokenizer puts {} tokens around each text", around),
                          fmt::format("give at least {}", around)});
  }
  CutPrompt made = cut_prompt(bpe, text, length - around, padding);
  TokenizedPrompt& prompt = made.prompt;
  const auto begin = prompt.ids.begin() + prompt.first;
  prompt.ids.insert(begin + prompt.used, frame.after.begin(), frame.after.end());
  prompt.ids.insert(prompt.ids.begin() + prompt.first, frame.before.begin(), frame.before.end());
  prompt.used += around;
  return made;
}

std::string cut_of(const CutPrompt& made, std::string_view text, size_t before) {
  const size_t at = std::max(made.at, before) - before;
  return at < text.size() ? std::string(without_space(text.substr(at))) : "";
}

}  // namespace omnirt::text
