#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace omnirt {

struct GivenValues;  // request/given_values.hpp

// What a user asks for, the same over every interface. Fields hold what was given; nothing is
// defaulted here.
struct GenerateRequest {
  std::string task;     // "" : inferred from the inputs
  std::string model;    // an id or a folder; "" : the catalogue's default
  std::string backend;  // "" or "auto": the first that is available
  Json inputs = Json::object();
  Json config = Json::object();
  Json guider = Json::object();      // {type, ...}
  Json components = Json::object();  // {name: path or id}
  Json adapters = Json::array();     // [{kind, path, scale}, or "PATH[:SCALE]"]
  // {"unet": digest, "inputs.image": ..., "adapters[0]": ...}: the files that the request was made
  // with (request/provenance.hpp); others are refused.
  Json fingerprints = Json::object();
  // What inputs name that is in memory; of programs alone. Null: nothing.
  std::shared_ptr<const GivenValues> given{};
  // Files that the request names otherwise than by a path, as a server's request names an uploaded
  // image or an adapter: {part of the request ("model", "inputs", "components", "adapters"), name
  // in it: path}. They are never part of a text.
  std::map<std::pair<std::string, std::string>, std::string> locations{};
  // Where relative paths begin: the folder of the request's file; "" the working directory.
  std::string folder;
  // Fields that were given in addition to that file ("inputs.image", "model"): theirs begin in the
  // working directory.
  std::set<std::string> said_beside;

  bool operator==(const GenerateRequest&) const = default;
  Json to_json() const;
  // The path in `locations` that `given` means as `field`; null if it is not there.
  const std::string* location_of(const std::string& field, const std::string& given) const;
  // The absolute path that `given` means as `field`.
  std::string path_of(const std::string& field, const std::string& given) const;
  // The field is given again, in addition to the request's file: the file's fingerprints of what it
  // names no longer hold.
  void say(const std::string& field);
};

// An adapter as "PATH" or "PATH:SCALE" says it; what follows the last colon and is no number
// belongs to the path.
Json adapter_of_text(const std::string& text);
// Reads a request from its JSON form. Throws InvalidRequest with every finding: wrong types,
// unknown fields.
GenerateRequest parse_request(const Json& json);
// A file's values, JSON or YAML by its content; "-" is standard input.
Json load_document(const std::string& path);
// Reads a request file, as load_document reads it, or the request that an image or video of this
// program embeds (the folder of a video's frames, too).
GenerateRequest load_request(const std::string& path);
// YAML as the JSON that it means: unquoted true/false, null and numbers become those; everything
// else is text.
Json parse_yaml(const std::string& text, const std::string& where);

}  // namespace omnirt
