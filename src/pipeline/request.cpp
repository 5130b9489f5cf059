#include "pipeline/request.hpp"

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace omnirt {
namespace {

const std::vector<std::string>& field_names() {
  static const std::vector<std::string> names{"task",   "model",  "backend",    "inputs",
                                              "config", "guider", "components", "adapters"};
  return names;
}

void take_text(const std::string& field, const Json& value, std::string& into,
               std::vector<Finding>& findings) {
  if (value.is_string())
    into = value.get<std::string>();
  else if (!value.is_null())
    findings.push_back({field, shown(value), "a text is expected", ""});
}

void take(const std::string& field, const Json& value, bool (Json::*is)() const noexcept,
          const char* expected, Json& into, std::vector<Finding>& findings) {
  if ((value.*is)())
    into = value;
  else if (!value.is_null())
    findings.push_back({field, shown(value), expected, ""});
}

}  // namespace

Json GenerateRequest::to_json() const {
  Json json = {{"task", task},
               {"model", model},
               {"backend", backend},
               {"inputs", inputs},
               {"config", config}};
  if (!guider.empty()) json["guider"] = guider;
  if (!components.empty()) json["components"] = components;
  if (!adapters.empty()) json["adapters"] = adapters;
  return json;
}

GenerateRequest parse_request(const Json& json) {
  if (!json.is_object())
    throw InvalidRequest({"request", shown(json), "an object is expected", ""});
  GenerateRequest request;
  std::vector<Finding> findings;
  constexpr const char* object = "an object is expected";
  for (const auto& [field, value] : json.items()) {
    if (field == "task")
      take_text(field, value, request.task, findings);
    else if (field == "model")
      take_text(field, value, request.model, findings);
    else if (field == "backend")
      take_text(field, value, request.backend, findings);
    else if (field == "inputs")
      take(field, value, &Json::is_object, object, request.inputs, findings);
    else if (field == "config")
      take(field, value, &Json::is_object, object, request.config, findings);
    else if (field == "guider")
      take(field, value, &Json::is_object, object, request.guider, findings);
    else if (field == "components")
      take(field, value, &Json::is_object, object, request.components, findings);
    else if (field == "adapters")
      take(field, value, &Json::is_array, "a list is expected", request.adapters, findings);
    else
      findings.push_back(
          {field, shown(value), "unknown request field", suggest(field, field_names())});
  }
  if (!findings.empty()) throw InvalidRequest(std::move(findings));
  return request;
}

}  // namespace omnirt
