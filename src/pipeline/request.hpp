#pragma once
#include <string>
#include <vector>

#include "base/json.hpp"

namespace omnirt {

// What a user asks for, the same over every interface. Fields hold what was given; nothing is
// defaulted here.
struct GenerateRequest {
  std::string task;     // "" : told from the inputs
  std::string model;    // an id or a folder; "" : the catalogue's default
  std::string backend;  // "" or "auto": the first that is available
  Json inputs = Json::object();
  Json config = Json::object();
  Json guider = Json::object();      // {type, ...}
  Json components = Json::object();  // {name: path or id}
  Json adapters = Json::array();     // [{kind, path, scale}]

  Json to_json() const;
};

// Reads a request from its JSON form. Throws InvalidRequest with every finding: wrong types,
// unknown fields.
GenerateRequest parse_request(const Json& json);
// A file's values, JSON or YAML by its content; "-" is standard input.
Json load_document(const std::string& path);
// Reads a request file, as load_document reads it.
GenerateRequest load_request(const std::string& path);
// YAML as the JSON that it means: unquoted true/false, null and numbers become those; everything
// else is text.
Json parse_yaml(const std::string& text, const std::string& where);

}  // namespace omnirt
