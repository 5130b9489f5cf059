// Which components' weights are kept in a narrower type while they are computed with, and what that
// does not go with.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "pipeline/keys.hpp"
#include "pipeline/memory_keys.hpp"
#include "request/validate.hpp"

namespace omnirt::validation {
namespace {

const std::string field = std::string("config.") + keys::storage_dtype.name;

const nn::NetworkInfo* network_of(const Proposal& proposal, const std::string& component) {
  const ComponentFolder* folder = proposal.folder.find(component);
  return folder ? proposal.catalogue->find_network(folder->class_name) : nullptr;
}

std::vector<std::string> networks_of(const Proposal& proposal, const std::string& role = "") {
  std::vector<std::string> names;
  for (const std::string& name : proposal.plan.components) {
    const nn::NetworkInfo* info = network_of(proposal, name);
    if (info && (role.empty() || info->role == role)) names.push_back(name);
  }
  return names;
}

void refuse(Proposal& proposal, const std::string& with, const std::string& fix) {
  proposal.error({field, proposal.config.find(keys::storage_dtype.name)->value.dump(),
                  fmt::format("does not go with {}", with), fix});
}

// Weights stay narrow where they are computed with in the process's memory.
bool keeps_weights(const Proposal& proposal, const std::string& component) {
  const DeviceId device = proposal.device_of(component);
  return device.backend.empty() ||
         proposal.capabilities_of(device).plans_memory == PlannedSpace::process;
}

void take(Proposal& proposal, const std::string& where, const std::string& component,
          const Json& given) {
  if (!keeps_weights(proposal, component)) {
    return refuse(proposal, "backend " + proposal.device_of(component).backend,
                  "omit it, or use backend cpu");
  }
  const auto type = given.is_string() ? choice_of<StorageType>(given.get<std::string>())
                                      : std::optional<StorageType>();
  if (type) {
    proposal.storage[component] = *type;
    return;
  }
  proposal.error(
      {where, given.dump(), "not a type that weights are kept in",
       fmt::format("give one of: {}", fmt::join(ChoiceNames<StorageType>::names, ", "))});
}

void take_each(Proposal& proposal, const Json& given) {
  const std::vector<std::string> names = networks_of(proposal);
  for (const auto& [component, type] : given.items()) {
    const std::string where = field + "." + component;
    if (std::ranges::find(names, component) == names.end()) {
      proposal.error({where, type.dump(), "no network of this run has this name",
                      fmt::format("give one of: {}", fmt::join(names, ", "))});
    } else {
      take(proposal, where, component, type);
    }
  }
}

// What would keep the weights in another form, or compute with none but whole tensors.
void refuse_together(Proposal& proposal) {
  if (proposal.config.maybe(keys::quantize) == Quantization::int8)
    refuse(proposal, "quantize int8, which keeps weights in int8", "omit one of the two");
  if (proposal.config.maybe(keys::pack).value_or(PackPolicy::automatic) == PackPolicy::always)
    refuse(proposal, "pack always, which keeps wider copies of weights", "omit one of the two");
  if (proposal.config.maybe(keys::level).value_or(LevelChoice::automatic) == LevelChoice::eager)
    refuse(proposal, "level eager, whose weights are widened once and kept so",
           "omit one of the two");
}

}  // namespace

void settle_storage(Proposal& proposal) {
  const ConfigValue* given = proposal.config.find(keys::storage_dtype.name);
  if (!given || given->value.is_null()) return;
  if (given->value.is_object()) {
    take_each(proposal, given->value);
  } else {
    for (const std::string& component : networks_of(proposal, "denoiser"))
      take(proposal, field, component, given->value);
  }
  refuse_together(proposal);
}

}  // namespace omnirt::validation
