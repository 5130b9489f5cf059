#include <fmt/format.h>
#include <fmt/ranges.h>

#include "request/known_things.hpp"
#include "request/validate.hpp"
#include "text/prompt_a1111.hpp"

namespace omnirt::validation {
namespace {

std::string way_out(const std::string& prompt, const std::vector<std::string>& things) {
  std::vector<std::string> near = things_near(prompt, things);
  std::string all = fmt::format("{} in the model's folder lists them all", things_file);
  return near.empty() ? all : fmt::format("nearest: {}; {}", fmt::join(near, ", "), all);
}

// The words of a prompt as its syntax reads it. Throws InvalidRequest where it is none of that
// syntax.
std::string words_of(const Proposal& proposal, const std::string& prompt) {
  if (!reads_a1111(proposal)) return prompt;
  std::string words;
  for (const text::WeightedSection& section : text::parse_a1111(prompt, "inputs.prompt")) {
    if (!words.empty()) words += ' ';
    for (const text::WeightedText& part : section) words += part.text;
  }
  return words;
}

void check_prompt(Proposal& proposal, const std::string& prompt,
                  const std::vector<std::string>& things) {
  std::string words;
  try {
    words = words_of(proposal, prompt);
  } catch (const InvalidRequest&) {
    return;  // the block that reads the prompt says it
  }
  if (!names_none_of(words, things)) return;
  proposal.warn({"inputs.prompt", prompt,
                 fmt::format("names none of the {} things that this model was made to draw, so the "
                             "image will show something else",
                             things.size()),
                 way_out(words, things)});
}

}  // namespace

void check_things(Proposal& proposal) {
  auto prompts = proposal.texts.find("prompt");
  // An adapter teaches what the model's own list cannot know.
  if (prompts == proposal.texts.end() || !proposal.adapters.empty()) return;
  try {
    std::vector<std::string> things = read_known_things(proposal.folder.path);
    if (things.empty()) return;
    for (const std::string& prompt : prompts->second) check_prompt(proposal, prompt, things);
  } catch (const InvalidRequest& thrown) {
    proposal.take(thrown);
  }
}

}  // namespace omnirt::validation
