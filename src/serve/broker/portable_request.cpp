#include "serve/broker/portable_request.hpp"

#include <algorithm>

#include "serve/request_files.hpp"
#include "serve/request_words.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;
namespace {

// Each file of the folder as it was before its request was placed there.
void take_places(Json& value, const std::string& folder) {
  if (value.is_structured()) {
    for (auto& [key, each] : value.items()) take_places(each, folder);
  } else if (value.is_string()) {
    const std::string text = value.get<std::string>();
    if (text.starts_with(folder)) value = {{sent_file_key, text.substr(folder.size())}};
  }
}

// Inputs but texts are files by their names, or numbers, or lists and objects of such.
void check_names(const std::string& field, const Json& value, std::vector<Finding>& findings) {
  if (value.is_string()) findings.push_back({field, shown(value), "could be a path", ""});
  if (!value.is_structured()) return;
  if (value.is_object() && value.contains(sent_file_key)) {
    const Json& name = value[sent_file_key];
    if (value.size() != 1 || !name.is_string() || !is_file_name(name.get<std::string>()))
      findings.push_back({field, shown(name), "is no name of a file", ""});
    return;
  }
  for (const auto& [key, each] : value.items()) check_names(field, each, findings);
}

std::string name_of_model(const std::string& given, const ServedModels& models) {
  for (const auto& [name, model] : models.models) {
    if (model == given) return name;
  }
  throw InternalError("a job's model is none that is served");
}

}  // namespace

std::string portable_request(const std::string& placed, const fs::path& folder,
                             const ServedModels& models, std::string& name) {
  Json stored = parse_json(placed, "the request of a job", max_job_request_bytes);
  Json& request = stored["request"];
  name = name_of_model(request.value("model", ""), models);
  request["model"] = name;
  for (auto& [input, value] : request["inputs"].items()) {
    if (!is_text_input(input)) take_places(value, (folder / "").string());
  }
  if (request.contains("adapters")) {
    for (Json& adapter : request["adapters"])
      adapter["path"] = fs::path(adapter["path"].get<std::string>()).filename().string();
  }
  for (const char* each : {"output_dir", "preview_dir", "preview_name"})
    request["config"].erase(each);
  return stored.dump(-1, ' ', false, Json::error_handler_t::replace);
}

PlacedRequest place_request(const std::string& portable, const fs::path& folder,
                            const ServedModels& models) {
  const Json stored = parse_json(portable, "the request of a job", max_job_request_bytes);
  if (!stored.is_object() || !stored.contains("request") || !stored.contains("strict") ||
      !stored["strict"].is_boolean())
    throw InvalidRequest({"request", "", "is not what a server writes for a job", ""});
  ServedRequest served;
  served.request = parse_request(stored["request"]);
  std::vector<Finding> findings;
  for (const auto& [input, value] : served.request.inputs.items()) {
    const std::string field = "inputs." + input;
    is_text_input(input) ? refuse_objects(field, value, findings)
                         : check_names(field, value, findings);
  }
  refuse_paths(served.request, findings);
  settle_names(served.request, models, findings);
  if (!findings.empty()) throw InvalidRequest(findings);
  const Json trace = stored.value("traceparent", Json());
  return {served.in_folder(folder), stored["strict"].get<bool>(),
          trace.is_string() ? trace.get<std::string>() : ""};
}

}  // namespace omnirt::serve
