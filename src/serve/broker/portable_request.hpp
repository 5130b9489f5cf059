#pragma once
#include <filesystem>
#include <string>

#include "serve/job_names.hpp"
#include "serve/served_request.hpp"

namespace omnirt::serve {

// A job's request, as a server placed it in a folder of its own (`job_request_text`), without what
// is that machine's: its model and adapters by the names that requests give them, its files by
// theirs. `name` becomes the model's.
std::string portable_request(const std::string& placed, const std::filesystem::path& folder,
                             const ServedModels& models, std::string& name);

struct PlacedRequest {
  GenerateRequest request;
  bool strict = false;
  std::string traceparent{};  // of the request that the job came with, or ""
};
// The other way, on a machine that has the job's files in `folder`. Throws InvalidRequest where
// something in it is not served there, or could be a path of that machine.
PlacedRequest place_request(const std::string& portable, const std::filesystem::path& folder,
                            const ServedModels& models);

}  // namespace omnirt::serve
