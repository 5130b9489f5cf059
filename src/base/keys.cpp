#include "base/keys.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace omnirt {
namespace {

const char* type_name(KeyInfo::Type type) {
  switch (type) {
    case KeyInfo::Type::boolean:
      return "true or false";
    case KeyInfo::Type::integer:
      return "a whole number";
    case KeyInfo::Type::number:
      return "a number";
    case KeyInfo::Type::text:
      return "a text";
    case KeyInfo::Type::list:
      return "a list of whole numbers";
    case KeyInfo::Type::object:
      return "an object";
  }
  return "";
}

std::string range_text(const KeyInfo& key) {
  if (std::isinf(key.min) && std::isinf(key.max)) return "";
  if (std::isinf(key.max)) return fmt::format("{} or more", key.min);
  return fmt::format("{} to {}", key.min, key.max);
}

constexpr size_t max_list = 64;

bool take_integer(Json& value) {
  if (value.is_number_integer()) return true;
  if (!value.is_number_float()) return false;
  double number = value.get<double>();
  if (!(std::abs(number) < 9e15) || std::floor(number) != number) return false;
  value = static_cast<int64_t>(number);
  return true;
}

bool right_type(KeyInfo::Type type, Json& value) {
  switch (type) {
    case KeyInfo::Type::boolean:
      return value.is_boolean();
    case KeyInfo::Type::integer:
      return take_integer(value);
    case KeyInfo::Type::number:
      return value.is_number() && std::isfinite(value.get<double>());
    case KeyInfo::Type::text:
      return value.is_string();
    case KeyInfo::Type::list:
      return value.is_array() && !value.empty() && value.size() <= max_list &&
             std::ranges::all_of(value, take_integer);
    case KeyInfo::Type::object:
      return value.is_object();
  }
  return false;
}

// Unsigned values beyond int64 (a seed) compare as doubles, which is near enough for a limit.
bool in_range(const KeyInfo& key, const Json& value) {
  if (value.is_array())
    return std::ranges::all_of(value, [&](const Json& item) { return in_range(key, item); });
  if (key.type == KeyInfo::Type::object || !value.is_number()) return true;
  double number = value.get<double>();
  return number >= key.min && number <= key.max;
}

bool right_kind(const KeyInfo& key, const Json& value) {
  for (const std::string& kind : key.choice_list()) {
    if (kind == "number" && value.is_number() && std::isfinite(value.get<double>())) return true;
    if (kind == "list" && value.is_array()) return true;
    if (kind == "object" && value.is_object()) return true;
    if (kind == "text" && value.is_string()) return true;
  }
  return false;
}

std::string expected(const KeyInfo& key) {
  if (key.type != KeyInfo::Type::object || !*key.kinds) return type_name(key.type);
  return fmt::format("one of {}", fmt::join(key.choice_list(), ", "));
}

}  // namespace

std::string KeyInfo::flag_name() const {
  std::string text = *flag ? flag : name;
  std::ranges::replace(text, '_', '-');
  return text;
}

Json KeyInfo::fallback_json() const {
  return std::visit(
      [](const auto& value) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
          return nullptr;
        else
          return value;
      },
      fallback);
}

std::vector<std::string> KeyInfo::choice_list() const {
  if (names) return {names, names + name_count};
  std::vector<std::string> list;
  std::string item;
  for (const char* c = kinds; *c; ++c) {
    if (*c != '|') {
      item += *c;
      continue;
    }
    list.push_back(std::move(item));
    item.clear();
  }
  if (!item.empty()) list.push_back(std::move(item));
  return list;
}

const char* to_string(Origin origin) {
  switch (origin) {
    case Origin::fallback:
      return "default";
    case Origin::model:
      return "model";
    case Origin::preset:
      return "preset";
    case Origin::user:
      return "user";
    case Origin::drawn:
      return "drawn";
    case Origin::derived:
      return "derived";
  }
  return "";
}

const ConfigValue* ConfigValues::find(const std::string& name) const {
  auto it = values_.find(name);
  return it == values_.end() ? nullptr : &it->second;
}

Json ConfigValues::to_json() const {
  Json json = Json::object();
  for (const auto& [name, value] : values_) {
    json[name] = {{"value", value.value}, {"origin", to_string(value.origin)}};
  }
  return json;
}

bool check_value(const KeyInfo& key, const std::string& field, Json& value,
                 std::vector<Finding>& findings) {
  bool of_kinds = key.type == KeyInfo::Type::object && *key.kinds;
  if (of_kinds ? !right_kind(key, value) : !right_type(key.type, value)) {
    std::string range = range_text(key);
    findings.push_back(
        {field, shown(value),
         fmt::format("{} is expected{}{}", expected(key), range.empty() ? "" : ", ", range), ""});
    return false;
  }
  if (!in_range(key, value)) {
    findings.push_back({field, shown(value), "out of range", "give " + range_text(key)});
    return false;
  }
  if (of_kinds) return true;
  auto choices = key.choice_list();
  if (!choices.empty() && std::ranges::find(choices, value.get<std::string>()) == choices.end()) {
    findings.push_back({field, shown(value), "not one of the known values",
                        fmt::format("give one of: {}", fmt::join(choices, ", "))});
    return false;
  }
  return true;
}

}  // namespace omnirt
