#include "blocks/check_control.hpp"

#include <fmt/format.h>

#include <optional>

#include "base/path_text.hpp"

namespace omnirt::blocks {
namespace {

// Any of the images is given and its part is not: the parts themselves say the rest.
Trigger unread(const ControlKind& kind) {
  std::optional<Trigger> any;
  for (const auto& [input, component] : kind.reads) {
    Trigger one = has(input) && !has_component(component);
    any = any ? *any || one : one;
  }
  return *any;
}

}  // namespace

CheckControl::CheckControl(const ControlKind& kind, const Trigger& when)
    : Block("check_" + kind.component, Stage::prepare_conditions, Guidance::shared,
            when.text().empty() ? unread(kind) : unread(kind) && when),
      kind_(kind) {
  for (const auto& [input, component] : kind.reads) {
    inputs_.emplace_back(this, input, "an image for " + kind.what);
    if (!parts_.contains(component)) parts_.try_emplace(component, this, component);
  }
}

void CheckControl::check(Checks& checks) const {
  for (const auto& input : inputs_) {
    const Described<nn::Network>& part = parts_.at(kind_.reads.at(input.name()));
    const ImageInput* given = checks.image(input);
    if (!given || checks.folder(part)) continue;
    size_t parts = checks.count_alike(part);
    std::string what = parts == 0
                           ? fmt::format("{} reads it, and none is given", kind_.what)
                           : fmt::format("there are only {} components.{}", parts, kind_.component);
    checks.error({"inputs." + input.name(), path_text(given->path), what,
                  fmt::format("name its {0} in components.{1}: {{\"components\": {{\"{2}\": "
                              "\"path/to/{0}\"}}}} (a list for several), or remove the image",
                              kind_.form, part.name(), kind_.component)});
  }
}

}  // namespace omnirt::blocks
