// Which device each component runs on.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "pipeline/memory_keys.hpp"
#include "pipeline/run_keys.hpp"
#include "request/validate.hpp"

namespace omnirt::validation {
namespace {

const std::string field = std::string("config.") + keys::device_map.name;

// {"transformer": "cuda:0"} from "transformer=cuda:0,vae=cuda:1"; empty if `text` is no such list.
Json map_of(std::string_view text) {
  Json map = Json::object();
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string_view entry = text.substr(at, end - at);
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) return Json::object();
    const std::string name(entry.substr(0, equals));
    if (map.contains(name)) return Json::object();
    map[name] = std::string(entry.substr(equals + 1));
    at = end + 1;
  }
  return map;
}

std::vector<std::string> networks_of(const Proposal& proposal) {
  std::vector<std::string> names;
  for (const ComponentFacts& each : proposal.networks_on(proposal.device))
    names.push_back(each.name);
  return names;
}

// Whether this run is a part of one that also has this network: one map serves all parts.
bool is_of_another_part(const Proposal& proposal, const std::string& name) {
  if (!proposal.resumed && !proposal.config.maybe(keys::stop_after)) return false;
  const ComponentFolder* component = proposal.folder.find(name);
  return component && proposal.catalogue->find_network(component->class_name);
}

void place(Proposal& proposal, const std::vector<std::string>& networks, const std::string& name,
           const Json& given) {
  const std::string where = field + "." + name;
  if (std::ranges::find(networks, name) == networks.end()) {
    if (is_of_another_part(proposal, name)) return;
    proposal.error({where, shown(given), "no network of this run has this name",
                    fmt::format("give one of: {}", fmt::join(networks, ", "))});
    return;
  }
  if (!given.is_string() || given == "auto" || given == "") {
    proposal.error({where, shown(given), "not a device", "give one, as in cuda:1 or cpu"});
    return;
  }
  try {
    const auto found =
        resolve_device(proposal.catalogue->backends, given.get<std::string>(), where);
    if (found.device != proposal.device) proposal.placed[name] = found.device;
  } catch (const InvalidRequest& thrown) {
    proposal.take(thrown);
  }
}

}  // namespace

void settle_devices(Proposal& proposal) {
  const ConfigValue* given = proposal.config.find(keys::device_map.name);
  if (!given || given->value.is_null() || proposal.device.backend.empty()) return;
  const Json map =
      given->value.is_string() ? map_of(given->value.get<std::string>()) : given->value;
  if (!map.is_object() || map.empty()) {
    proposal.error({field, shown(given->value), "not a list of components and their devices",
                    "give COMPONENT=DEVICE,..., each component once"});
    return;
  }
  const std::vector<std::string> networks = networks_of(proposal);
  for (const auto& [name, device] : map.items()) place(proposal, networks, name, device);
  proposal.config.set(keys::device_map.name, map, given->origin);
}

}  // namespace omnirt::validation
