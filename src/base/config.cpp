#include "base/config.hpp"

#include <cmath>

#include "base/whole_number.hpp"

namespace omnirt {

ConfigReader::ConfigReader(const Json& json, std::string where)
    : json_(json), where_(std::move(where)) {
  if (!json.is_object()) throw InvalidFile({where_, shown(json), "a JSON object was expected", ""});
}

const Json* ConfigReader::find(const char* name) {
  seen_.insert(name);
  auto it = json_.find(name);
  return it == json_.end() ? nullptr : &*it;
}

void ConfigReader::wrong_type(const char* name, const Json& value) {
  findings_.push_back({where_ + "." + name, shown(value), "a value of this type is not understood",
                       "take the config.json that the weights came with"});
}

void ConfigReader::refuse(const std::string& name, const Json& value, const Json& implemented) {
  findings_.push_back({where_ + "." + name, shown(value), "this value is not implemented",
                       "implemented: " + implemented.dump()});
}

void ConfigReader::only(const char* name, const std::vector<Json>& implemented) {
  const Json* value = find(name);
  if (!value || value->is_null()) return;
  for (const Json& known : implemented) {
    if (known == *value) return;
  }
  refuse(name, *value, Json(implemented));
}

void ConfigReader::ignore(std::initializer_list<const char*> names) {
  for (const char* name : names) seen_.insert(name);
}

void ConfigReader::finish(bool refuse_unknown) {
  if (refuse_unknown) {
    for (const auto& [name, value] : json_.items()) {
      if (name.starts_with("_") || value.is_null() || seen_.contains(name)) continue;
      findings_.push_back({where_ + "." + name, shown(value),
                           "this key is not known here, and it could change the "
                           "result",
                           "remove it if it has no meaning for inference"});
    }
  }
  if (!findings_.empty()) throw Unsupported(std::move(findings_));
}

bool ConfigReader::assign(const Json& value, bool& member) {
  if (!value.is_boolean()) return false;
  member = value.get<bool>();
  return true;
}

bool ConfigReader::assign(const Json& value, int64_t& member) {
  if (const auto whole = whole_number(value)) {
    member = *whole;
    return true;
  }
  // 1e3 or 2.0 in a hand-written file is a whole number too.
  if (!value.is_number_float()) return false;
  double number = value.get<double>();
  if (std::floor(number) != number || std::abs(number) > 1e15) return false;
  member = static_cast<int64_t>(number);
  return true;
}

bool ConfigReader::assign(const Json& value, double& member) {
  if (!value.is_number()) return false;
  member = value.get<double>();
  return std::isfinite(member);
}

bool ConfigReader::assign(const Json& value, std::string& member) {
  if (!value.is_string()) return false;
  member = value.get<std::string>();
  return true;
}

}  // namespace omnirt
