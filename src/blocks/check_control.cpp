#include "blocks/check_control.hpp"

#include <fmt/format.h>

#include <optional>

#include "blocks/control_values.hpp"
#include "request/numbered.hpp"

namespace omnirt::blocks {
namespace {

// Any of the pictures is given and its part is not: the parts themselves say the rest.
Trigger unread(const ControlKind& kind) {
  std::optional<Trigger> any;
  for (const auto& [input, component] : kind.reads) {
    Trigger one = has(input) && !has_component(component);
    any = any ? *any || one : one;
  }
  return *any;
}

}  // namespace

CheckControl::CheckControl(const ControlKind& kind)
    : Block("check_" + kind.component, Stage::prepare_conditions, Guidance::shared, unread(kind)),
      kind_(kind) {
  for (const auto& [input, component] : kind.reads)
    inputs_.emplace_back(this, input, "an image for " + kind.what);
}

void CheckControl::check(Proposal& proposal) const {
  for (const auto& [input, component] : kind_.reads) {
    auto given = proposal.images.find(input);
    if (given == proposal.images.end() || proposal.folder.find(component)) continue;
    size_t parts = count_components(proposal, kind_.component);
    std::string what = parts == 0
                           ? fmt::format("{} reads it, and none is given", kind_.what)
                           : fmt::format("there are only {} components.{}", parts, kind_.component);
    proposal.error({"inputs." + input, given->second.path, what,
                    fmt::format("name its folder in components.{}: {{\"components\": {{\"{}\": "
                                "\"path/to/folder\"}}}} (a list for several), or remove the "
                                "picture",
                                component, kind_.component)});
  }
}

}  // namespace omnirt::blocks
