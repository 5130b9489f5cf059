// Prompts of other syntaxes than the plain one, and the adapters that they name.
#include <cmath>

#include "fuzz/target.hpp"
#include "io/utf8.hpp"
#include "text/prompt_a1111.hpp"

namespace omnirt::fuzz {

std::string make_input(Random& random) {
  static const std::string pieces[] = {
      "a cat", "(",        ")",   "[",     "]",      ":1.2)",  "\\", ":",  "|",   " BREAK ",
      ", ",    "\xC3\xA9", "AND", ":0.5]", "<lora:", "x:0.8>", ">",  "((", "-1)", "\xE7\x8C\xAB"};
  std::string text;
  for (size_t i = 0, count = below(60, random); i < count; ++i)
    text += pieces[below(std::size(pieces), random)];
  if (random() % 3 == 0) text = mutate_text(text, random);
  // Now and then more than a prompt may have.
  for (uint64_t times = random() % 32 ? 0 : 9; times > 0; --times) text += text;
  return text;
}

void read_input(std::string_view input) {
  text::TaggedPrompt read = text::take_adapter_tags(input, "prompt");
  require(read.text.size() <= input.size(), "taking adapters out adds nothing");
  require(read.adapters.size() <= text::max_prompt_adapters, "adapters are bounded");
  text::a1111_weight_in(input);
  size_t parts = 0;
  std::vector<text::WeightedSection> sections = text::parse_a1111(read.text, "prompt");
  require(!sections.empty(), "a prompt has a section");
  for (const text::WeightedSection& section : sections) {
    require(!section.empty(), "a section has a part");
    parts += section.size();
    for (const text::WeightedText& part : section) {
      require(io::find_invalid_utf8(part.text) == std::string::npos, "parts are UTF-8");
      require(std::abs(part.weight) <= text::max_prompt_weight, "weights are bounded");
    }
  }
  require(parts <= text::max_prompt_pieces + sections.size(), "parts are bounded");
}

}  // namespace omnirt::fuzz
