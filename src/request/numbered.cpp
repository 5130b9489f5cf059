#include "request/numbered.hpp"

#include <fmt/format.h>

#include <set>

#include "io/image.hpp"
#include "pipeline/numbered.hpp"
#include "request/proposal.hpp"

namespace omnirt {
namespace {

// The names of a family's components, or of its inputs that are images.
std::set<std::string> port_names(const Family& family, bool components) {
  std::set<std::string> names;
  for (const auto& block : family.blocks) {
    for (const PortInfo& port : block->ports()) {
      bool component = port.kind == PortInfo::Kind::component;
      if (components ? component : !component && port.type == typeid(io::Image))
        names.insert(port.name);
    }
  }
  return names;
}

// The component that an input is named after ("ip_adapter" of ip_adapter_image), of several the one
// with the longest name; "" where there is none.
std::string owner_of(const std::string& input, const std::set<std::string>& components) {
  std::string owner;
  for (const std::string& name : components) {
    if (input.starts_with(name + "_") && name.size() > owner.size()) owner = name;
  }
  return owner;
}

class Expander {
 public:
  // `owners`: the components that inputs may be named after.
  Expander(Proposal& proposal, std::string where, std::set<std::string> known,
           const std::set<std::string>& owners = {})
      : proposal_(proposal), where_(std::move(where)), known_(std::move(known)), owners_(owners) {}

  Json expanded(const Json& given) {
    Json all = Json::object();
    for (const auto& [name, value] : given.items()) {
      if (value.is_array() && known_.contains(name))
        expand(name, value, all);
      else
        all[name] = value;
    }
    return all;
  }

 private:
  void expand(const std::string& name, const Json& list, Json& all) {
    if (list.empty()) {
      proposal_.error({where_ + "." + name, "[]", "an empty list", "name one, or remove it"});
      return;
    }
    bool nested = false;
    for (const Json& each : list) nested = nested || each.is_array();
    for (size_t i = 0; i < list.size(); ++i) {
      if (nested)
        expand_part(name, part_name(name, i), list[i], all);
      else
        put(name, numbered(name, i), list[i], all);
    }
  }

  void expand_part(const std::string& name, const std::string& part, const Json& list, Json& all) {
    Json parts = list.is_array() ? list : Json::array({list});
    for (size_t i = 0; i < parts.size(); ++i) put(name, numbered(part, i), parts[i], all);
  }

  void put(const std::string& name, const std::string& part, const Json& value, Json& all) {
    if (known_.contains(part)) {
      all[part] = value;
      return;
    }
    proposal_.error({where_ + "." + name, shown(value), "more than this model takes",
                     fmt::format("it has no {}", part)});
  }

  // Inputs that are named after their component are numbered as it is: ip_adapter_image of the
  // first, ip_adapter_1_image of the second.
  std::string part_name(const std::string& name, size_t place) const {
    std::string owner = owner_of(name, owners_);
    if (owner.empty()) return numbered(name, place);
    return numbered(owner, place) + name.substr(owner.size());
  }

  Proposal& proposal_;
  std::string where_;
  std::set<std::string> known_;
  std::set<std::string> owners_;
};

// A plain list of what is named after a component is one for each of them where the request has
// several.
void nest_lists(const Json& components, const std::set<std::string>& owners, Json& inputs) {
  for (auto& [name, list] : inputs.items()) {
    std::string owner = owner_of(name, owners);
    if (owner.empty() || !components.contains(numbered(owner, 1)) || !list.is_array()) continue;
    for (Json& each : list) {
      if (!each.is_array()) each = Json::array({each});
    }
  }
}

}  // namespace

void expand_lists(Proposal& proposal) {
  const Family& family = *proposal.family;
  GenerateRequest& request = proposal.request;
  const std::set<std::string> components = port_names(family, true);
  request.components = Expander(proposal, "components", components).expanded(request.components);
  nest_lists(request.components, components, request.inputs);
  request.inputs =
      Expander(proposal, "inputs", port_names(family, false), components).expanded(request.inputs);
}

}  // namespace omnirt
