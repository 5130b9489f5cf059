#include "serve/openai_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/json_text.hpp"

namespace omnirt::serve {

OpenAiFields::OpenAiFields(Json fields) : fields_(std::move(fields)) {
  if (fields_.is_object()) return;
  refuse("body", fields_, "an object is expected");
  throw InvalidRequest(findings_);
}

void OpenAiFields::refuse(const std::string& field, const Json& value, const std::string& message) {
  findings_.push_back({field, shown(value), message, "docs/server.md"});
}

Json OpenAiFields::take(const char* name) {
  auto it = fields_.find(name);
  if (it == fields_.end()) return {};
  Json value = *it;
  fields_.erase(it);
  return value;
}

void OpenAiFields::move(const char* name, Json& into, const char* as) {
  Json value = take(name);
  if (!value.is_null()) into[as] = std::move(value);
}

bool OpenAiFields::flag(const char* name) {
  const Json value = take(name);
  if (value.is_null() || value.is_boolean()) return value.is_boolean() && value.get<bool>();
  refuse(name, value, "true or false is expected");
  return false;
}

int64_t OpenAiFields::count(const char* name, int64_t least, int64_t most) {
  const Json value = take(name);
  if (value.is_null()) return least;
  if (value.is_number_integer() && value >= least && value <= most) return value.get<int64_t>();
  refuse(name, value, fmt::format("{} to {} is expected", least, most));
  return least;
}

std::string OpenAiFields::one_of(const char* name, const std::vector<std::string>& values) {
  const Json value = take(name);
  if (value.is_null()) return values.front();
  if (std::find(values.begin(), values.end(), value) != values.end())
    return value.get<std::string>();
  refuse(name, value, fmt::format("{} is what is served", fmt::join(values, ", ")));
  return values.front();
}

Json OpenAiFields::names(const char* name) {
  Json value = take(name);
  if (value.is_null()) return Json::array();
  if (value.is_array()) return value;
  if (!value.is_string()) {
    refuse(name, value, "a list, or a text with commas between is expected");
    return Json::array();
  }
  Json list = Json::array();
  std::istringstream text(value.get<std::string>());
  for (std::string each; std::getline(text, each, ',');) {
    each.erase(0, each.find_first_not_of(' '));
    list.push_back(each);
  }
  return list;
}

void OpenAiFields::size(Json& config) {
  const Json value = take("size");
  if (value.is_null() || value == "auto") return;
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  const size_t by = text.find_first_of("xX");
  const Json width = parse_scalar(text.substr(0, by));
  const Json height = parse_scalar(by == std::string::npos ? "" : text.substr(by + 1));
  if (!width.is_number_integer() || !height.is_number_integer())
    return refuse("size", value, "WIDTHxHEIGHT or auto is expected");
  config["width"] = width;
  config["height"] = height;
}

void OpenAiFields::finish() {
  for (const auto& [name, value] : fields_.items())
    findings_.push_back(
        {name.substr(0, 100), shown(value), "unknown, or without a meaning here", "omit it"});
  if (!findings_.empty()) throw InvalidRequest(findings_);
}

}  // namespace omnirt::serve
