// Prompts of other syntaxes than the plain one, and the adapters that they name.
#include <cmath>

#include "base/error.hpp"
#include "fuzz/target.hpp"
#include "io/utf8.hpp"
#include "text/prompt_a1111.hpp"
#include "text/prompt_compel.hpp"
#include "text/prompt_schedule.hpp"

namespace omnirt::fuzz {

std::string make_input(Random& random) {
  static const std::string pieces[] = {
      "a cat",    "(",      ")",       "[",        "]",        ":1.2)",        "\\",
      ":",        "|",      " BREAK ", ", ",       "\xC3\xA9", "AND",          ":0.5]",
      "<lora:",   "x:0.8>", ">",       "((",       "-1)",      "\xE7\x8C\xAB", "\"",
      "++",       "-",      ")1.3",    ").blend(", ").and(",   ".swap(",       "0.5, ",
      "withLora("};
  std::string text;
  for (size_t i = 0, count = below(60, random); i < count; ++i)
    text += pieces[below(std::size(pieces), random)];
  if (random() % 3 == 0) text = mutate_text(text, random);
  // Now and then more than a prompt may have.
  for (uint64_t times = random() % 32 ? 0 : 9; times > 0; --times) text += text;
  return text;
}

void check_parts(const text::WeightedSection& section) {
  require(!section.empty(), "a section has a part");
  for (const text::WeightedText& part : section) {
    require(io::find_invalid_utf8(part.text) == std::string::npos, "parts are UTF-8");
    require(std::abs(part.weight) <= text::max_prompt_weight, "weights are bounded");
  }
}

void read_compel(std::string_view input) {
  text::compel_operator_in(input);
  try {
    text::CompelPrompt read = text::parse_compel(input, "prompt");
    require(!read.parts.empty() && read.parts.size() <= text::max_prompt_parts, "it has parts");
    require(read.weights.size() == read.parts.size(), "a weight for each");
    for (const text::CompelBlend& blend : read.parts) {
      require(blend.weights.size() == blend.prompts.size(), "a weight for each");
      for (const text::WeightedSection& section : blend.prompts) check_parts(section);
    }
  } catch (const InvalidRequest&) {
    // The other syntax may still read it.
  }
}

void read_schedule(std::string_view input) {
  try {
    text::ScheduledText read = text::schedule_of(input, "prompt", 20);
    require(!read.texts.empty() && read.texts.size() <= text::max_prompt_turns, "it has texts");
    for (int64_t turn : read.by_step)
      require(turn >= 0 && turn < static_cast<int64_t>(read.texts.size()), "steps have texts");
    for (const std::string& text : read.texts)
      require(text.size() <= input.size() + 1, "choosing adds nothing");
  } catch (const InvalidRequest&) {
    // The other syntaxes may still read it.
  }
}

void read_input(std::string_view input) {
  read_compel(input);
  read_schedule(input);
  text::TaggedPrompt read = text::take_adapter_tags(input, "prompt");
  require(read.text.size() <= input.size(), "taking adapters out adds nothing");
  require(read.adapters.size() <= text::max_prompt_adapters, "adapters are bounded");
  text::a1111_weight_in(input);
  size_t parts = 0;
  std::vector<text::WeightedSection> sections = text::parse_a1111(read.text, "prompt");
  require(!sections.empty(), "a prompt has a section");
  for (const text::WeightedSection& section : sections) {
    check_parts(section);
    parts += section.size();
  }
  require(parts <= text::max_prompt_pieces + sections.size(), "parts are bounded");
}

}  // namespace omnirt::fuzz
