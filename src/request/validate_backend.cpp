// What a request asks of its backend, compared with what the backend says that it does.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "pipeline/keys.hpp"
#include "request/validate.hpp"

namespace omnirt::validation {
namespace {

using Modes = std::vector<ComputeMode>;

// One value that a mode must have.
struct Asked {
  std::string key;
  std::string value;
  std::vector<std::string> ComputeMode::*list;
  std::string field() const { return "config." + key; }
  bool in(const ComputeMode& mode) const { return std::ranges::count(mode.*list, value) > 0; }
};

// Defaults are there for every backend, so each mode has them; only the default of matmul_precision
// leaves the choice to the backend, and asks for nothing.
std::vector<Asked> asked_of(const Proposal& proposal) {
  std::vector<Asked> asked;
  for (const ModeOption& option : mode_options) {
    const ConfigValue* given = proposal.config.find(option.key);
    if (!given || !given->value.is_string()) continue;
    bool free = std::string_view(option.key) == keys::matmul_precision.name &&
                given->origin == Origin::fallback;
    if (!free) asked.push_back({option.key, given->value.get<std::string>(), option.values});
  }
  return asked;
}

Modes those(const Modes& modes, const std::function<bool(const ComputeMode&)>& wanted) {
  Modes found;
  std::ranges::copy_if(modes, std::back_inserter(found), wanted);
  return found;
}

std::string options_of(const Modes& modes, std::vector<std::string> ComputeMode::*list) {
  return fmt::format("{}", fmt::join(Capabilities{.modes = modes}.options(list), ", "));
}

std::string levels_of(const Modes& modes) {
  std::vector<std::string> names;
  for (const ComputeMode& mode : modes) {
    for (Level level : mode.levels) {
      std::string name = to_string(level);
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

bool at_allowed_level(const ComputeMode& mode, const LevelPolicy& policy) {
  return std::ranges::any_of(mode.levels, [&](Level level) { return policy.allows(level); });
}

// "backend cpu", with the component that device_map places there.
std::string name_of_place(const Proposal& proposal, const DeviceId& device) {
  const std::string name = "backend " + device.backend;
  if (device == proposal.device) return name;
  const auto found = std::ranges::find_if(
      proposal.placed, [&](const auto& placed) { return placed.second == device; });
  return fmt::format("{}, where device_map places {},", name, found->first);
}

// A value that no mode has.
void refuse_unknown(Proposal& proposal, const Asked& asked, const Modes& modes,
                    const std::string& place) {
  std::string options = options_of(modes, asked.list);
  proposal.error({asked.field(), asked.value, place + " does not have it",
                  options.empty() ? "omit it" : "give one of: " + options});
}

// Values that exist, but in different modes: reports the first that conflicts with another.
void refuse_together(Proposal& proposal, const std::vector<Asked>& asked, const Modes& modes,
                     const std::string& place) {
  const LevelPolicy policy = proposal.levels();
  for (auto one = asked.rbegin(); one != asked.rend(); ++one) {
    Modes with = those(modes, [&](const ComputeMode& mode) { return one->in(mode); });
    for (const Asked& other : asked) {
      if (!those(with, [&](const ComputeMode& mode) { return other.in(mode); }).empty()) continue;
      proposal.error(
          {one->field(), one->value,
           fmt::format("{} does not have it with {} {}", place, other.key, other.value),
           fmt::format("omit it, or give {} one of: {}", other.key, options_of(with, other.list))});
      return;
    }
    if (those(with, [&](const ComputeMode& mode) {
          return at_allowed_level(mode, policy);
        }).empty()) {
      proposal.error({one->field(), one->value,
                      place + " does not have it at the levels that the run may use",
                      "omit it, or allow one of the levels: " + levels_of(with)});
      return;
    }
  }
  proposal.error({asked.front().field(), asked.front().value,
                  place + " does not have all that is asked for at one level",
                  "see `omnirt backends` for what goes together"});
}

}  // namespace

namespace {

void check_modes(Proposal& proposal, const DeviceId& device) {
  const Modes modes = proposal.capabilities_of(device).modes;
  const std::vector<Asked> asked = asked_of(proposal);
  const std::string place = name_of_place(proposal, device);
  bool known = true;
  for (const Asked& each : asked) {
    if (std::ranges::any_of(modes, [&](const ComputeMode& mode) { return each.in(mode); }))
      continue;
    refuse_unknown(proposal, each, modes, place);
    known = false;
  }
  if (!known || asked.empty()) return;
  const LevelPolicy policy = proposal.levels();
  bool together = std::ranges::any_of(modes, [&](const ComputeMode& mode) {
    return at_allowed_level(mode, policy) &&
           std::ranges::all_of(asked, [&](const Asked& each) { return each.in(mode); });
  });
  if (!together) refuse_together(proposal, asked, modes, place);
}

}  // namespace

void check_backend_modes(Proposal& proposal) {
  for (const DeviceId& device : proposal.devices()) check_modes(proposal, device);
}

}  // namespace omnirt::validation
