#include "nn/original_layout.hpp"

#include <algorithm>

#include "base/ensure.hpp"

namespace omnirt::nn {
namespace {

struct Found {
  std::string name;
  const LayoutRule* leaf;  // the innermost rule that applied
};

// How much of `name` a rule matches; npos where it does not fit.
size_t fitting(const LayoutRule& rule, const std::string& name) {
  if (rule.network == "*") return std::min(name.find('.'), name.size());
  if (rule.network.empty()) return 0;
  if (!name.starts_with(rule.network)) return std::string::npos;
  bool whole = name.size() == rule.network.size() || name[rule.network.size()] == '.';
  return whole ? rule.network.size() : std::string::npos;
}

std::string joined(const std::string& start, const std::string& rest) {
  if (start.empty() || rest.empty()) return start + rest;
  return start + "." + rest;
}

std::optional<Found> apply_rules(const std::vector<LayoutRule>& rules, const std::string& name) {
  for (const LayoutRule& rule : rules) {
    size_t end = fitting(rule, name);
    if (end == std::string::npos) continue;
    std::string start = rule.original == "*" ? name.substr(0, end) : rule.original;
    std::string rest = end == 0 ? name : name.substr(std::min(end + 1, name.size()));
    std::optional<Found> inner = apply_rules(rule.within, rest);
    if (inner) return Found{joined(start, inner->name), inner->leaf};
    return Found{joined(start, rest), &rule};
  }
  return std::nullopt;
}

std::vector<int64_t> original_shape(const Param& param, const LayoutRule& rule) {
  std::vector<int64_t> shape = param.shape;
  switch (rule.form) {
    case Form::same:
      break;
    case Form::swapped:
      ensure(!shape.empty() && shape[0] % 2 == 0, "'{}' has no halves to swap", param.name);
      break;
    case Form::head_pairs:
      ensure(
          !shape.empty() && rule.parts > 0 && shape[0] % static_cast<int64_t>(2 * rule.parts) == 0,
          "'{}' has no {} heads of pairs", param.name, rule.parts);
      break;
    case Form::transposed:
      ensure(shape.size() == 2, "'{}' is transposed, but no matrix", param.name);
      std::swap(shape[0], shape[1]);
      break;
    case Form::conv1x1:
      if (shape.size() == 2) shape.insert(shape.end(), {1, 1});
      break;
    case Form::flat:
      ensure(shape.size() == 2, "'{}' is flat, but no matrix", param.name);
      shape = {shape[0] * shape[1]};
      break;
    case Form::rows:
      ensure(!shape.empty() && rule.span > 0 && rule.part + rule.span <= rule.parts &&
                 shape[0] % static_cast<int64_t>(rule.span) == 0,
             "'{}' has no rows to stack", param.name);
      shape[0] = shape[0] / static_cast<int64_t>(rule.span) * static_cast<int64_t>(rule.parts);
      if (rule.filter) shape.insert(shape.end(), {1, 1});
      break;
  }
  return shape;
}

}  // namespace

std::optional<OriginalPlace> original_place(const OriginalLayout& layout, const Param& param) {
  std::optional<Found> found = apply_rules(layout.rules, param.name);
  if (!found) return std::nullopt;
  const LayoutRule& rule = *found->leaf;
  OriginalPlace place{found->name, original_shape(param, rule), rule.form, rule.part, rule.parts,
                      rule.span};
  // A bias next to such a matrix is as it is.
  if (rule.form == Form::conv1x1 && place.shape == param.shape) place.form = Form::same;
  return place;
}

std::optional<std::string> original_name(const OriginalLayout& layout, const std::string& name) {
  std::optional<Found> found = apply_rules(layout.rules, name);
  return found ? std::optional(found->name) : std::nullopt;
}

const std::vector<NamedAdapters>& named_adapters() {
  static const std::vector<NamedAdapters> all{
      {"flux", "diffusers", "bfl"},  // Black Forest Labs' control LoRAs
      {"flux", "peft", "kontext"},   // fal's LoRAs of FLUX.1 Kontext
  };
  return all;
}

}  // namespace omnirt::nn
