#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace omnirt::text {

// Bounds of what a prompt of another syntax than the plain one may hold.
inline constexpr size_t max_prompt_depth = 64;     // brackets in brackets
inline constexpr size_t max_prompt_pieces = 4096;  // parts of different weights
inline constexpr double max_prompt_weight = 1000;  // of either sign
inline constexpr size_t max_prompt_adapters = 64;  // <lora:...>

// A part of a prompt that all has one weight. `text` is what the tokenizer reads.
struct WeightedText {
  std::string text;
  double weight = 1;
  bool operator==(const WeightedText&) const = default;
};

// What is between two BREAKs: its tokens begin a chunk of their own.
using WeightedSection = std::vector<WeightedText>;

// A1111's weights, as the reference reads them (diffusers' community pipeline
// lpw_stable_diffusion, parse_prompt_attention): (a) is 1.1, [a] 1/1.1, (a:1.2) 1.2, each times
// those around it; \( \) \[ \] \\ are the characters; a bracket that is not closed ends with the
// prompt. BREAK as a word of its own ends a section, as in A1111. There is at least one section,
// of at least one part.
// Throws InvalidRequest under `field` where the text is no prompt (check_prompt), passes the bounds
// above, has a weight that is no number, or asks for what is not done: AND. Words that change with
// the step are chosen before (text::schedule_of).
std::vector<WeightedSection> parse_a1111(std::string_view text, std::string_view field);

// <lora:name:0.8> in a prompt.
struct AdapterTag {
  std::string name;
  double scale = 1;
  bool operator==(const AdapterTag&) const = default;
};
struct TaggedPrompt {
  std::string text;  // without the tags
  std::vector<AdapterTag> adapters;
};
// Takes <lora:...> and <lyco:...> out of a prompt. Throws InvalidRequest under `field` for more
// than max_prompt_adapters, a tag without a name, a scale that is no number, more than one of them,
// or <hypernet:...>.
TaggedPrompt take_adapter_tags(std::string_view text, std::string_view field);

// The first part of a plain prompt that A1111 would not read as words, (a:1.2) or <lora:a:1>; empty
// where there is none.
std::string_view a1111_weight_in(std::string_view text);
std::string_view adapter_tag_in(std::string_view text);

}  // namespace omnirt::text
