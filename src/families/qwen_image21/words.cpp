#include "families/qwen_image21/words.hpp"

#include <fmt/format.h>

#include "blocks/qwen_image_prompt.hpp"

namespace omnirt::qwen_image21 {
namespace {

constexpr const char* instruction =
    "<|im_start|>system\nComprehend and analyze the provided prompt.<|im_end|>\n";
// As many places as the reference's transformer has for text (QwenImage21Rope).
constexpr size_t most_tokens = 8192;

}  // namespace

std::vector<int64_t> instructed(const text::Qwen2Tokenizer& tokenizer, const std::string& prompt,
                                size_t images) {
  std::string words = std::string(instruction) + "<|im_start|>user\n";
  for (size_t i = 1; i <= images; ++i) {
    words += fmt::format("{}<image{}><|vision_start|>{}<|vision_end|>", i == 1 ? "" : " ", i,
                         image_word);
  }
  // Qwen has no token that begins a text: an empty one is a space.
  words += (prompt.empty() ? " " : prompt) + blocks::after_prompt;
  return tokenizer.encode_words(words, "prompt");
}

int64_t ids_of_instruction(const text::Qwen2Tokenizer& tokenizer) {
  return static_cast<int64_t>(tokenizer.encode_words(instruction, "prompt").size());
}

void check_lengths(Checks& checks, const text::Qwen2Tokenizer& tokenizer,
                   const blocks::Texts& texts) {
  for (const Checks::NamedTexts& each : texts) {
    for (const std::string& text : each.texts) {
      const size_t tokens = instructed(tokenizer, text).size();
      if (tokens <= most_tokens) continue;
      checks.error({"inputs." + each.input, fmt::format("{} tokens", tokens),
                    fmt::format("more than the {} that the model has places for", most_tokens),
                    "shorten it"});
    }
  }
}

}  // namespace omnirt::qwen_image21
