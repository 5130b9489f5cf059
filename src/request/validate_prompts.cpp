#include <fmt/format.h>

#include <algorithm>

#include "pipeline/prompt_keys.hpp"
#include "request/validate.hpp"
#include "text/prompt_a1111.hpp"

namespace omnirt::validation {
namespace {

using Tags = std::vector<text::AdapterTag>;

}  // namespace

bool is_text(const Proposal& proposal, std::string name) {
  constexpr std::string_view negative = "negative_";
  if (name.starts_with(negative)) name = name.substr(negative.size());
  return std::ranges::any_of(proposal.family->blocks, [&](const auto& block) {
    return std::ranges::any_of(block->ports(), [&](const PortInfo& port) {
      return port.name == name && port.type == typeid(std::vector<std::string>);
    });
  });
}

namespace {

// Takes the tags out of a text, or out of each text of a list, which all have the same ones.
Tags take_tags(const std::string& field, Json& value) {
  if (value.is_string()) {
    text::TaggedPrompt read = text::take_adapter_tags(value.get<std::string>(), field);
    if (!read.adapters.empty()) value = read.text;
    return read.adapters;
  }
  Tags all;
  for (size_t i = 0; value.is_array() && i < value.size(); ++i) {
    if (!value[i].is_string()) continue;
    Tags tags = take_tags(field, value[i]);
    if (i > 0 && tags != all) {
      throw InvalidRequest(Finding{field, fmt::format("text {}", i + 1),
                                   "its <lora:...> are others than the first one's, and adapters "
                                   "hold for all images of a request",
                                   "name the same in each, or send several requests"});
    }
    all = std::move(tags);
  }
  return all;
}

void add_adapters(Proposal& proposal, const Tags& tags) {
  Json& adapters = proposal.request.adapters;
  size_t first = adapters.size();
  for (const text::AdapterTag& tag : tags)
    adapters.push_back({{"path", tag.name}, {"scale", tag.scale}});
  settle_adapter_paths(proposal, first);
}

}  // namespace

bool reads_a1111(const Proposal& proposal) {
  const char* name = keys::prompt_syntax.name;
  bool declared = std::ranges::any_of(proposal.family->blocks, [&](const auto& block) {
    return std::ranges::any_of(block->ports(),
                               [&](const PortInfo& port) { return port.key && port.name == name; });
  });
  auto given = proposal.request.config.find(name);
  return declared && given != proposal.request.config.end() &&
         *given == name_of(PromptSyntax::a1111);
}

void take_prompt_adapters(Proposal& proposal) {
  if (!reads_a1111(proposal)) return;
  for (auto& [name, value] : proposal.request.inputs.items()) {
    if (!is_text(proposal, name)) continue;
    std::string field = "inputs." + name;
    try {
      Tags tags = take_tags(field, value);
      if (tags.empty()) continue;
      if (name == "prompt") {
        add_adapters(proposal, tags);
      } else {
        proposal.error({field, tags.front().name, "adapters are named in the prompt only",
                        "move <lora:...> to inputs.prompt, or set adapters.path=FILE"});
      }
    } catch (const InvalidRequest& thrown) {
      proposal.take(thrown);
    }
  }
}

}  // namespace omnirt::validation
