#include "guiders/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace omnirt {
namespace {

std::string trimmed(const std::string& text) {
  size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// ["mid", 7] for a text: "mid,7".
Json joined(const Json& value) {
  if (value.is_number_integer()) return value.dump();
  if (!value.is_array()) return value;
  std::string text;
  for (const Json& item : value) {
    if (!item.is_string() && !item.is_number_integer()) return value;
    text += (text.empty() ? "" : ",") + (item.is_string() ? item.get<std::string>() : item.dump());
  }
  return text;
}

}  // namespace

bool StepRange::holds(size_t index, size_t steps) const {
  auto first = static_cast<size_t>(start * static_cast<double>(steps));
  double until = stop * static_cast<double>(steps);
  auto last = static_cast<size_t>(rounds_up ? std::ceil(until) : until);
  return (after_start ? index > first : index >= first) && index < last;
}

ConfigValues read_guider_settings(const Json& json, const std::vector<const KeyInfo*>& keys) {
  ConfigValues values;
  std::vector<Finding> findings;
  std::vector<std::string> names;
  for (const KeyInfo* key : keys) {
    names.emplace_back(key->name);
    values.set(key->name, key->fallback_json(), Origin::fallback);
  }
  for (const auto& item : json.items()) {
    const std::string& name = item.key();
    const Json& given = item.value();
    auto key = std::ranges::find_if(keys, [&](const KeyInfo* k) { return name == k->name; });
    if (key == keys.end()) {
      std::string way =
          keys.empty() ? "remove it: this guider has no settings" : suggest(name, names);
      findings.push_back({"guider." + name, shown(given), "unknown setting of this guider", way});
      continue;
    }
    Json value = (*key)->type == KeyInfo::Type::text ? joined(given) : given;
    if (check_value(**key, "guider." + name, value, findings))
      values.set(name, value, Origin::user);
  }
  if (!findings.empty()) throw InvalidRequest(std::move(findings));
  return values;
}

std::vector<const KeyInfo*> guidance_keys() {
  return {&guider_keys::guidance_scale, &guider_keys::guidance_rescale, &guider_keys::start,
          &guider_keys::stop};
}

std::vector<const KeyInfo*> with_guidance_keys(const std::vector<const KeyInfo*>& more) {
  std::vector<const KeyInfo*> keys = guidance_keys();
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

StepRange step_range(const ConfigValues& values, const Key<double>& start,
                     const Key<double>& stop) {
  StepRange range{values.get(start), values.get(stop)};
  if (range.start > range.stop) {
    throw InvalidRequest({fmt::format("guider.{}", start.name), fmt::format("{}", range.start),
                          fmt::format("greater than {}, {}", stop.name, range.stop),
                          fmt::format("give {} <= {}", start.name, stop.name)});
  }
  return range;
}

GuidanceConfig guidance_config(const ConfigValues& values) {
  return {values.get(guider_keys::guidance_scale), values.get(guider_keys::guidance_rescale),
          step_range(values, guider_keys::start, guider_keys::stop)};
}

std::vector<SiteRule> site_rules(const ConfigValues& values, const Key<std::string>& layers,
                                 SiteKind kind, const SiteChange& change) {
  std::vector<SiteRule> rules;
  std::string field = fmt::format("guider.{}", layers.name), text = values.get(layers);
  for (size_t from = 0; from <= text.size();) {
    size_t comma = std::min(text.find(',', from), text.size());
    std::string name = trimmed(text.substr(from, comma - from));
    if (name.empty()) {
      throw InvalidRequest(
          {field, text, "a name of a layer is empty", "name at least one: \"mid\""});
    }
    rules.push_back({name, kind, change, field});
    from = comma + 1;
  }
  return rules;
}

}  // namespace omnirt
