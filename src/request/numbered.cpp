#include "request/numbered.hpp"

#include <fmt/format.h>

#include <set>

#include "io/image.hpp"
#include "request/proposal.hpp"

namespace omnirt {
namespace {

// The names of a family's components, or of its inputs that are pictures.
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

class Expander {
 public:
  Expander(Proposal& proposal, std::string where, std::set<std::string> known)
      : proposal_(proposal), where_(std::move(where)), known_(std::move(known)) {}

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

  // Image prompts of several adapters: ip_adapter_image of the first, ip_adapter_1_image of the
  // second.
  static std::string part_name(const std::string& name, size_t place) {
    const std::string kind = "ip_adapter";
    if (place == 0 || !name.starts_with(kind)) return numbered(name, place);
    return numbered(kind, place) + name.substr(kind.size());
  }

  Proposal& proposal_;
  std::string where_;
  std::set<std::string> known_;
};

// A plain list of image prompts is one for each adapter where there are several.
void nest_image_prompts(const Json& components, Json& inputs) {
  if (!components.contains(numbered("ip_adapter", 1))) return;
  for (const char* name : {"ip_adapter_image", "ip_adapter_masks"}) {
    if (!inputs.contains(name) || !inputs[name].is_array()) continue;
    for (Json& each : inputs[name]) {
      if (!each.is_array()) each = Json::array({each});
    }
  }
}

}  // namespace

std::string numbered(const std::string& name, size_t place) {
  return place == 0 ? name : fmt::format("{}_{}", name, place);
}

void expand_lists(Proposal& proposal) {
  const Family& family = *proposal.family;
  GenerateRequest& request = proposal.request;
  request.components =
      Expander(proposal, "components", port_names(family, true)).expanded(request.components);
  nest_image_prompts(request.components, request.inputs);
  request.inputs = Expander(proposal, "inputs", port_names(family, false)).expanded(request.inputs);
}

}  // namespace omnirt
