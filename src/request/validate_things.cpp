#include <fmt/format.h>
#include <fmt/ranges.h>

#include "request/known_things.hpp"
#include "request/validate.hpp"

namespace omnirt::validation {
namespace {

std::string way_out(const std::string& prompt, const std::vector<std::string>& things) {
  std::vector<std::string> near = things_near(prompt, things);
  std::string all = fmt::format("{} in the model's folder lists them all", things_file);
  return near.empty() ? all : fmt::format("nearest: {}; {}", fmt::join(near, ", "), all);
}

}  // namespace

void check_things(Proposal& proposal) {
  auto prompts = proposal.texts.find("prompt");
  // An adapter teaches what the model's own list cannot know.
  if (prompts == proposal.texts.end() || !proposal.adapters.empty()) return;
  try {
    std::vector<std::string> things = read_known_things(proposal.folder.path);
    if (things.empty()) return;
    for (const std::string& prompt : prompts->second) {
      if (!names_none_of(prompt, things)) continue;
      proposal.warn({"inputs.prompt", prompt,
                     fmt::format("names none of the {} things that this model was made to draw, so "
                                 "the image will show something else",
                                 things.size()),
                     way_out(prompt, things)});
    }
  } catch (const InvalidRequest& thrown) {
    proposal.take(thrown);
  }
}

}  // namespace omnirt::validation
