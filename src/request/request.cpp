#include "request/request.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/nearest.hpp"
#include "pipeline/keys.hpp"
#include "request/other_words.hpp"

namespace omnirt {
namespace {

const std::vector<std::string>& field_names() {
  static const std::vector<std::string> names{"task",       "model",    "backend",
                                              "inputs",     "config",   "guider",
                                              "components", "adapters", "fingerprints"};
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
          const char* expected, Json& into, std::vector<Finding>& findings,
          const char* way_out = "") {
  if ((value.*is)())
    into = value;
  else if (!value.is_null())
    findings.push_back({field, shown(value), expected, way_out});
}

std::string instead_of(const std::string& field) {
  std::string meant = field_meant("", field);
  return meant.empty() ? suggest(field, field_names()) : "did you mean " + meant + "?";
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
  if (!fingerprints.empty()) json["fingerprints"] = fingerprints;
  return json;
}

const std::string* GenerateRequest::location_of(const std::string& field,
                                                const std::string& given) const {
  const auto it = locations.find({field.substr(0, field.find_first_of(".[")), given});
  return it == locations.end() ? nullptr : &it->second;
}

std::string GenerateRequest::path_of(const std::string& field, const std::string& given) const {
  if (const std::string* location = location_of(field, given)) return *location;
  std::filesystem::path path = given;
  std::error_code error;
  if (!folder.empty() && !said_beside.contains(field)) path = folder / path;
  return std::filesystem::absolute(path, error).lexically_normal().native();
}

void GenerateRequest::say(const std::string& field) {
  said_beside.insert(field);
  bool whole_model = field == "model";
  for (const KeyInfo* key : {&keys::model_path, &keys::single_file_config})
    whole_model |= field == std::string("config.") + key->name;
  Json kept = Json::object();
  for (const auto& [name, digest] : fingerprints.items()) {
    bool of_model = name.find_first_of(".[") == name.npos;
    bool named = name == field || name.starts_with(field + "[") || "components." + name == field;
    if (!named && !(whole_model && of_model)) kept[name] = digest;
  }
  fingerprints = std::move(kept);
}

Json adapter_of_text(const std::string& text) {
  size_t colon = text.rfind(':');
  Json scale = colon == text.npos ? Json() : parse_scalar(text.substr(colon + 1));
  if (!scale.is_number()) return {{"path", text}};
  return {{"path", text.substr(0, colon)}, {"scale", scale}};
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
      take(field, value, &Json::is_array, "a list is expected", request.adapters, findings,
           "put it in brackets: [style.safetensors], or [{path: style.safetensors, scale: 0.8}]");
    else if (field == "fingerprints")
      take(field, value, &Json::is_object, object, request.fingerprints, findings);
    else
      findings.push_back({field, shown(value), "unknown request field", instead_of(field)});
  }
  if (!findings.empty()) throw InvalidRequest(std::move(findings));
  return request;
}

}  // namespace omnirt
