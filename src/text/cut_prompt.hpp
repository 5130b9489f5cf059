#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/byte_level_bpe.hpp"
#include "text/tokenizer.hpp"

namespace omnirt::text {

struct Padding {
  int64_t id = 0;
  bool in_front = false;
};

// The ids, and the byte of the text from which on they do not hold it.
struct CutPrompt {
  TokenizedPrompt prompt;
  size_t at;
};

// The text's ids as far as `length` of them go, and padding up to that.
CutPrompt cut_prompt(const ByteLevelBpe& bpe, std::string_view text, int64_t length,
                     const Padding& padding);

// The ids around each text.
struct FramingIds {
  std::vector<int64_t> before, after;
};
// Throws InvalidFile, naming `where`, for a token that the vocabulary lacks.
FramingIds framing_ids(const ByteLevelBpe& bpe, const TextFrame& frame, const std::string& where);
// The same in their frame. Throws InvalidRequest where `length` is less than the frame.
CutPrompt cut_framed_prompt(const ByteLevelBpe& bpe, const FramingIds& frame, std::string_view text,
                            int64_t length, const Padding& padding);

// What of `text`, which `before` bytes precede in the prompt, did not fit.
std::string cut_of(const CutPrompt& made, std::string_view text, size_t before);

}  // namespace omnirt::text
