#include "serve/served_request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "request/request_text.hpp"
#include "serve/base64.hpp"
#include "serve/request_files.hpp"
#include "serve/request_words.hpp"

namespace omnirt::serve {
namespace {

// Fields of the server's own, taken out of the request. Null counts as not given.
class OwnFields {
 public:
  OwnFields(Json& json, std::vector<Finding>& findings) : json_(json), findings_(findings) {}

  bool flag(const char* name) {
    const Json value = take(name);
    if (value.is_null() || value.is_boolean()) return value.is_boolean() && value.get<bool>();
    findings_.push_back({name, shown(value), "true or false is expected", ""});
    return false;
  }
  Priority priority() {
    const Json value = take("priority");
    if (value.is_null()) return Priority::normal;
    if (value.is_string()) {
      if (auto known = choice_of<Priority>(value.get<std::string>())) return *known;
    }
    findings_.push_back({"priority", shown(value), "unknown", "give low, normal or high"});
    return Priority::normal;
  }
  int64_t deadline() {
    const Json value = take("deadline_ms");
    if (value.is_null()) return 0;
    if (value.is_number_integer() && value >= 1 && value <= max_deadline_ms)
      return value.get<int64_t>();
    findings_.push_back({"deadline_ms", shown(value), "out of range",
                         fmt::format("give milliseconds from now, 1 to {}", max_deadline_ms)});
    return 0;
  }

 private:
  Json take(const char* name) {
    auto it = json_.find(name);
    if (it == json_.end()) return {};
    Json value = *it;
    json_.erase(it);
    return value;
  }
  Json& json_;
  std::vector<Finding>& findings_;
};

}  // namespace

ServedRequest read_served_request(std::string_view text, const std::vector<Part>& parts,
                                  const ServedModels& models) {
  Json json = parse_json(text, "request", text.size());
  if (!json.is_object())
    throw InvalidRequest({"request", shown(json), "an object is expected", "docs/requests.md"});
  std::vector<Finding> findings;
  ServedRequest served;
  OwnFields own(json, findings);
  served.async = own.flag("async");
  served.strict = own.flag("strict");
  served.priority = own.priority();
  served.deadline_in_ms = own.deadline();
  RequestFiles files(parts, findings);
  files.take_inputs(json);
  try {
    served.request = parse_request(json);
  } catch (const InvalidRequest& error) {
    findings.insert(findings.end(), error.findings().begin(), error.findings().end());
    throw InvalidRequest(findings);
  }
  refuse_paths(served.request, findings);
  settle_names(served, models, findings);
  served.files = files.files();
  if (!findings.empty()) throw InvalidRequest(findings);
  return served;
}

ServedRequest read_served_body(std::string_view content_type, std::string_view body,
                               const ServedModels& models) {
  if (media_type(content_type) != "multipart/form-data")
    return read_served_request(body, {}, models);
  std::vector<Part> parts = read_multipart(body, boundary_of(content_type));
  auto it = std::find_if(parts.begin(), parts.end(),
                         [](const Part& part) { return part.name == "request"; });
  if (it == parts.end()) {
    throw InvalidRequest({"body", "multipart/form-data", "has no part of the name request",
                          "send the JSON request as that part"});
  }
  const std::string_view json = it->bytes;
  parts.erase(it);
  return read_served_request(json, parts, models);
}

namespace {

// A file that came with the request is {sent_file_key: name} until its folder is known.
void place(Json& value, const std::filesystem::path& folder, GenerateRequest& request) {
  if (value.is_object() && value.size() == 1 && value.contains(sent_file_key) &&
      value[sent_file_key].is_string()) {
    const std::string name = value[sent_file_key].get<std::string>();
    request.locations[{"inputs", name}] = (folder / name).native();
    value = name;
  } else if (value.is_structured()) {
    for (auto& each : value) place(each, folder, request);
  }
}

}  // namespace

GenerateRequest ServedRequest::in_folder(const std::filesystem::path& folder) const {
  GenerateRequest placed = request;
  if (model.find('/') == std::string::npos)
    placed.model = model;
  else
    placed.locations[{"model", request.model}] = model;
  for (auto& value : placed.inputs) place(value, folder, placed);
  placed.config["output_dir"] = folder.native();
  // No paths of this machine.
  if (!placed.config.contains("metadata")) placed.config["metadata"] = "short";
  if (placed.config.contains("preview_every")) {
    placed.config["preview_dir"] = folder.native();
    placed.config["preview_name"] = "preview-{index}.png";
  }
  return placed;
}

}  // namespace omnirt::serve
