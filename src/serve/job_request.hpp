#pragma once
#include <filesystem>
#include <string>

#include "serve/job_names.hpp"
#include "serve/served_request.hpp"

namespace omnirt::serve {

// A job's request as it is stored, and as workers of other machines receive it: models, adapters
// and files by name. `traceparent`: the trace of the HTTP request, or "".
std::string job_request_text(const ServedRequest& served, const std::string& traceparent = "");

struct PlacedRequest {
  GenerateRequest request;
  std::string model;      // its name
  std::string backend{};  // as the request names it; its place may choose another
  bool strict = false;
  std::string traceparent{};
};
// Reads job_request_text on a machine that has the job's files in `folder`. Throws InvalidRequest
// for names that are not served there, and for everything that could be a path of that machine.
PlacedRequest place_request(const std::string& text, const std::filesystem::path& folder,
                            const ServedModels& models);

}  // namespace omnirt::serve
