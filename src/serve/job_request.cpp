#include "serve/job_request.hpp"

#include "request/request_text.hpp"
#include "serve/request_files.hpp"
#include "serve/request_words.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;
namespace {

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

}  // namespace

std::string job_request_text(const ServedRequest& served, const std::string& traceparent) {
  Json stored = {{"request", served.request.to_json()}, {"strict", served.strict}};
  if (!traceparent.empty()) stored["traceparent"] = traceparent;
  return stored.dump(-1, ' ', false, Json::error_handler_t::replace);
}

PlacedRequest place_request(const std::string& text, const fs::path& folder,
                            const ServedModels& models) {
  const Json stored = parse_json(text, "the request of a job", max_job_request_bytes);
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
  settle_names(served, models, findings);
  if (!findings.empty()) throw InvalidRequest(findings);
  const Json trace = stored.value("traceparent", Json());
  return {.request = served.in_folder(folder),
          .model = served.request.model,
          .backend = served.request.backend,
          .strict = stored["strict"].get<bool>(),
          .traceparent = trace.is_string() ? trace.get<std::string>() : ""};
}

}  // namespace omnirt::serve
