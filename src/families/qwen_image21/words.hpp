#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "blocks/prompt_tokens.hpp"
#include "text/qwen2_tokenizer.hpp"

namespace omnirt::qwen_image21 {

// The ids of a prompt as the message of a user, with the instruction that the model was trained
// with before it (reference: QwenImage21Pipeline.sys_prompt, prompt_template_ti2i); within it each
// of `images` is one id. Throws as Qwen2Tokenizer::encode_words.
std::vector<int64_t> instructed(const text::Qwen2Tokenizer& tokenizer, const std::string& prompt,
                                size_t images = 0);
// How many of them are the instruction's, whose states are not read.
int64_t ids_of_instruction(const text::Qwen2Tokenizer& tokenizer);
// The word that an image is.
inline constexpr const char* image_word = "<|image_pad|>";

// A finding for each text of more tokens than the model has places for: the reference cuts none.
void check_lengths(Checks& checks, const text::Qwen2Tokenizer& tokenizer,
                   const blocks::Texts& texts);

}  // namespace omnirt::qwen_image21
