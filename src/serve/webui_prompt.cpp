#include "serve/webui_prompt.hpp"

#include "base/error.hpp"
#include "text/prompt_a1111.hpp"

namespace omnirt::serve {
namespace {

std::string words_of(const std::string& prompt, const std::string& field) {
  const auto sections = text::parse_a1111(prompt, field);
  std::string words;
  for (const auto& section : sections) {
    for (const text::WeightedText& part : section) {
      if (sections.size() == 1 && part.weight == 1) {
        words += part.text;
        continue;
      }
      throw InvalidRequest({field, part.text.substr(0, 100),
                            "this model's prompts have no weights, sections or changes by step",
                            "write words alone, \\( and \\[ for brackets"});
    }
  }
  return words;
}

}  // namespace

WebuiPrompt read_webui_prompt(const std::string& prompt, const std::string& field,
                              bool weighs_words) {
  const text::TaggedPrompt read = text::take_adapter_tags(prompt, field);
  WebuiPrompt made{.text = weighs_words ? read.text : words_of(read.text, field)};
  for (const text::AdapterTag& tag : read.adapters)
    made.adapters.push_back({{"path", tag.name}, {"scale", tag.scale}});
  return made;
}

}  // namespace omnirt::serve
