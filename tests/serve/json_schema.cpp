#include "serve/json_schema.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <regex>
#include <set>

namespace omnirt::serve {
namespace {

using Errors = std::vector<std::string>;

bool is_type(const Json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  if (type == "number") return value.is_number();
  const bool whole = value.is_number_float() && std::floor(value.get<double>()) == value;
  return type == "integer" && (value.is_number_integer() || whole);
}

struct Place {
  const Json& value;
  const Json& schema;  // that the keyword stands in
  const Json& document;
  const std::string& where;
  Errors& errors;

  void fail(const std::string& what) const {
    errors.push_back(where + ": " + what + ", and is " + value.dump().substr(0, 200));
  }
  void into(const Json& part, const Json& by, const std::string& name) const {
    const Errors more = schema_errors(part, by, document, where + "." + name);
    errors.insert(errors.end(), more.begin(), more.end());
  }
};

void check_type(const Place& at, const Json& rule) {
  const Json types = rule.is_array() ? rule : Json::array({rule});
  if (std::none_of(types.begin(), types.end(),
                   [&](const Json& type) { return is_type(at.value, type.get<std::string>()); }))
    at.fail("should be " + rule.dump());
}

void check_properties(const Place& at, const Json& rule) {
  if (!at.value.is_object()) return;
  for (const auto& [name, value] : at.value.items()) {
    if (rule.contains(name)) at.into(value, rule[name], name);
  }
}

void check_additional(const Place& at, const Json& rule) {
  if (!at.value.is_object()) return;
  for (const auto& [name, value] : at.value.items()) {
    if (at.schema.contains("properties") && at.schema["properties"].contains(name)) continue;
    if (rule.is_boolean() && !rule.get<bool>()) at.fail("should not have " + name);
    if (rule.is_object()) at.into(value, rule, name);
  }
}

void check_required(const Place& at, const Json& rule) {
  if (!at.value.is_object()) return;
  for (const Json& name : rule) {
    if (!at.value.contains(name.get<std::string>())) at.fail("should have " + name.dump());
  }
}

void check_names(const Place& at, const Json& rule) {
  if (!at.value.is_object()) return;
  for (const auto& [name, value] : at.value.items()) at.into(Json(name), rule, name);
}

void check_items(const Place& at, const Json& rule) {
  for (size_t i = 0; at.value.is_array() && i < at.value.size(); ++i)
    at.into(at.value[i], rule, std::to_string(i));
}

void check_any_of(const Place& at, const Json& rule) {
  for (const Json& each : rule) {
    if (schema_errors(at.value, each, at.document, at.where).empty()) return;
  }
  at.fail("should be any of " + rule.dump());
}

void check_pattern(const Place& at, const Json& rule) {
  if (at.value.is_string() &&
      !std::regex_search(at.value.get<std::string>(), std::regex(rule.get<std::string>())))
    at.fail("should match " + rule.dump());
}

void require(const Place& at, bool holds, const Json& rule) {
  if (!holds) at.fail("breaks " + rule.dump());
}

using Check = std::function<void(const Place&, const Json&)>;

const std::map<std::string, Check>& checks() {
  static const std::map<std::string, Check> all{
      {"type", check_type},
      {"properties", check_properties},
      {"additionalProperties", check_additional},
      {"required", check_required},
      {"propertyNames", check_names},
      {"items", check_items},
      {"anyOf", check_any_of},
      {"pattern", check_pattern},
      {"$ref",
       [](const Place& at, const Json& rule) {
         at.into(at.value, at_reference(at.document, rule.get<std::string>()), "");
       }},
      {"enum",
       [](const Place& at, const Json& rule) {
         require(at, std::find(rule.begin(), rule.end(), at.value) != rule.end(), rule);
       }},
      {"const", [](const Place& at, const Json& rule) { require(at, at.value == rule, rule); }},
      {"not",
       [](const Place& at, const Json& rule) {
         require(at, !schema_errors(at.value, rule, at.document, at.where).empty(), rule);
       }},
      {"minimum",
       [](const Place& at, const Json& rule) {
         require(at, !at.value.is_number() || at.value >= rule, rule);
       }},
      {"maximum",
       [](const Place& at, const Json& rule) {
         require(at, !at.value.is_number() || at.value <= rule, rule);
       }},
      {"minItems",
       [](const Place& at, const Json& rule) {
         require(at, !at.value.is_array() || at.value.size() >= rule.get<size_t>(), rule);
       }},
      {"maxItems",
       [](const Place& at, const Json& rule) {
         require(at, !at.value.is_array() || at.value.size() <= rule.get<size_t>(), rule);
       }},
      {"maxProperties",
       [](const Place& at, const Json& rule) {
         require(at, !at.value.is_object() || at.value.size() <= rule.get<size_t>(), rule);
       }},
      {"minLength", [](const Place& at, const Json& rule) {
         require(at,
                 !at.value.is_string() || at.value.get<std::string>().size() >= rule.get<size_t>(),
                 rule);
       }}};
  return all;
}

}  // namespace

Json at_reference(const Json& document, const std::string& reference) {
  const Json::json_pointer pointer(reference.substr(1));
  return document.contains(pointer) ? document.at(pointer) : Json();
}

std::vector<std::string> schema_errors(const Json& value, const Json& schema, const Json& document,
                                       const std::string& where) {
  static const std::set<std::string> notes{"description", "format", "contentEncoding",
                                           "contentMediaType"};
  if (!schema.is_object()) return {where + ": there is no schema"};
  Errors errors;
  const Place at{value, schema, document, where, errors};
  for (const auto& [keyword, rule] : schema.items()) {
    if (notes.contains(keyword)) continue;
    auto check = checks().find(keyword);
    if (check == checks().end())
      errors.push_back(where + ": the keyword " + keyword + " is not known");
    else
      check->second(at, rule);
  }
  return errors;
}

}  // namespace omnirt::serve
