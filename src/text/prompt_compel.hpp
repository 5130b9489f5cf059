#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/prompt_a1111.hpp"

namespace omnirt::text {

inline constexpr size_t max_prompt_parts = 64;  // of .blend() and .and()

// Prompts whose embeddings are added, each times its weight; one prompt of weight 1 is
// itself.
struct CompelBlend {
  std::vector<WeightedSection> prompts;
  std::vector<double> weights;
  bool normalize = true;  // weights are divided by their sum
  bool operator==(const CompelBlend&) const = default;
};

// Parts whose embeddings follow each other along the tokens, each moved from those of the empty
// prompt by its weight.
struct CompelPrompt {
  std::vector<CompelBlend> parts;
  std::vector<double> weights;
  bool operator==(const CompelPrompt&) const = default;
};

// A prompt in the syntax of compel 2.5.1 (prompt_parser.py), which InvokeAI and diffusers' guide on
// weighting use: word+, (words)--, "words"1.3 and (words).attend(1.3) are weights, times those
// around them; ("a", "b").blend(1, 0.5) and ("a", "b").and(1, 0.5) form a whole prompt; a backslash
// before ( ) or " makes it a character. Words of one weight are joined by one space, as there.
// There is at least one part, of at least one prompt, of at least one text.
// Throws InvalidRequest under `field` where the text is no prompt (check_prompt), passes a bound,
// has another number of weights than of prompts or text after the prompts, or asks for what is not
// done: .swap(), withLora().
CompelPrompt parse_compel(std::string_view text, std::string_view field);

// The first part of a plain prompt that compel would not read as words, .blend(, .and( and the
// like; empty where there is none.
std::string_view compel_operator_in(std::string_view text);

}  // namespace omnirt::text
