#include "weights/adapters/targets.hpp"

#include <algorithm>
#include <set>

namespace omnirt::adapters {
namespace {

std::string underscored(std::string name) {
  std::ranges::replace(name, '.', '_');
  return name;
}

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('.') + 1);
}

// The children of a module in torch's order of members, where that is another than the topology's.
std::vector<const nn::Module*> ordered_children(const nn::Module& module,
                                                const nn::AdapterNames& declared) {
  std::vector<const nn::Module*> children(module.children().begin(), module.children().end());
  auto order = declared.member_order.find(module.class_name());
  if (order == declared.member_order.end()) return children;
  auto place = [&](const nn::Module* child) {
    return std::ranges::find(order->second, last_part(child->path())) - order->second.begin();
  };
  std::ranges::stable_sort(children, {}, place);
  return children;
}

template <class Visit>
void walk(const nn::Module& module, const nn::AdapterNames& declared, const Visit& visit) {
  visit(module);
  for (const nn::Module* child : ordered_children(module, declared)) walk(*child, declared, visit);
}

}  // namespace

Targets::Targets(std::string component, const nn::Network& network, bool denoiser)
    : component_(std::move(component)),
      network_(network),
      denoiser_(denoiser),
      declared_(network.adapter_names()) {
  std::map<std::string, const Param*> params;
  for (const Param* param : network.params()) params[param->name] = param;
  for (const auto& [name, param] : params) {
    constexpr std::string_view ending = ".weight";
    if (!name.ends_with(ending)) continue;
    std::string path = name.substr(0, name.size() - ending.size());
    auto bias = params.find(path + ".bias");
    layers_[path] = {path, param, bias == params.end() ? nullptr : bias->second};
  }
  std::vector<nn::OriginalLayout> layouts = network.original_layouts();
  layouts.insert(layouts.end(), declared_.layouts.begin(), declared_.layouts.end());
  for (const auto& [path, layer] : layers_) add_names(layer, layouts);
}

// The first layer of a name has it, and others that are in the same tensor.
void Targets::add(const std::string& name, const TargetPart& part) {
  for (auto* parts : {&by_name_[name], &by_underscored_[underscored(name)]}) {
    bool together =
        part.form == nn::Form::rows && std::ranges::all_of(*parts, [&](const TargetPart& other) {
          return other.form == nn::Form::rows && other.part != part.part;
        });
    if (parts->empty() || together) parts->push_back(part);
  }
}

void Targets::add_names(const TargetLayer& layer, const std::vector<nn::OriginalLayout>& layouts) {
  std::vector<std::string> names{layer.path};
  for (const auto& [ours, old] : declared_.old_names) {
    if (layer.path.ends_with("." + ours))
      names.push_back(layer.path.substr(0, layer.path.size() - ours.size()) + old);
  }
  for (const std::string& name : names) {
    add(name, {&layer});
    for (const std::string& prefix : declared_.prefixes)
      add(name.starts_with(prefix) ? name.substr(prefix.size()) : prefix + name, {&layer});
  }
  for (const nn::OriginalLayout& layout : layouts) {
    auto place = nn::original_place(layout, *layer.weight);
    // A norm's only tensor, which some call a scale.
    constexpr std::string_view scale = ".scale";
    if (place && place->name.ends_with(scale))
      add(place->name.substr(0, place->name.size() - scale.size()),
          {.layer = &layer, .original = layout.name});
    auto name = nn::original_name(layout, layer.path);
    // A transposed matrix has transposed factors, too, and one of pairs has its rows in pairs: none
    // of their names says so.
    if (!place || !name || place->form == nn::Form::transposed ||
        place->form == nn::Form::head_pairs)
      continue;
    nn::Form form = place->form == nn::Form::conv1x1 ? nn::Form::same : place->form;
    add(*name, {&layer, form, place->part, place->parts, place->span, layout.name});
  }
}

const TargetLayer* Targets::find(const std::string& name) const {
  std::vector<TargetPart> found = parts(name);
  return found.size() == 1 ? found.front().layer : nullptr;
}

std::vector<TargetPart> Targets::parts(const std::string& name) const {
  for (const auto* names : {&by_name_, &by_underscored_}) {
    auto it = names->find(name);
    if (it != names->end()) return it->second;
  }
  return {};
}

std::vector<const TargetLayer*> Targets::numbered(const std::vector<std::string>& classes) const {
  std::set<std::string> wanted;
  for (const auto& [theirs, ours, by_default] : declared_.numbered_classes) {
    bool named = std::ranges::find(classes, theirs) != classes.end();
    if (classes.empty() ? by_default : named) wanted.insert(ours);
  }
  std::vector<const TargetLayer*> found;
  walk(network_, declared_, [&](const nn::Module& module) {
    if (!wanted.contains(module.class_name())) return;
    walk(module, declared_, [&](const nn::Module& below) {
      auto layer = layers_.find(below.path());
      if (layer != layers_.end() && layer->second.weight->shape.size() >= 2)
        found.push_back(&layer->second);
    });
  });
  return found;
}

std::vector<std::string> Targets::names(bool underscores) const {
  std::vector<std::string> all;
  for (const auto& [name, parts] : underscores ? by_underscored_ : by_name_) all.push_back(name);
  return all;
}

std::vector<std::string> Targets::paths() const {
  std::vector<std::string> all;
  network_.visit([&](const nn::Module& module) {
    if (!module.path().empty()) all.push_back(module.path());
  });
  return all;
}

bool Targets::has_path(const std::string& path) const {
  bool found = false;
  network_.visit([&](const nn::Module& module) { found = found || module.path() == path; });
  return found;
}

}  // namespace omnirt::adapters
