#pragma once
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "serve/http.hpp"
#include "serve/job.hpp"
#include "serve/job_queue.hpp"

namespace omnirt::serve {

// A request that is no use as HTTP has it: 400, 415, ...
class HttpRefusal : public Error {
 public:
  HttpRefusal(int status, std::string kind, const std::string& what)
      : Error(std::move(kind), what, 2), status(status) {}
  int status;
};

inline constexpr const char* json_media = "application/json";
inline constexpr const char* form_media = "multipart/form-data";

// The media type of a request's body, which is one of `taken`; a body without a Content-Type is
// JSON. Throws HttpRefusal (415) of any other.
std::string require_type(const HttpRequest& request, const std::vector<std::string>& taken);

// Problem details (RFC 9457): {type, title, status, detail, instance, errors}. `kind` is a word of
// this program's ("invalid-request"), `id` the request's.
HttpResponse problem(int status, const std::string& kind, const std::string& detail,
                     const std::string& id, const std::vector<Finding>& findings = {});
// What a thrown error is for the client: its fault 4xx, else 5xx, with Retry-After where that
// helps.
HttpResponse problem_of(const Error& error, const std::string& id);
// Of a job that has ended without a result.
HttpResponse problem_of_job(const Job& job, const std::string& id);

HttpResponse json_response(int status, const Json& json);
std::string text_of(const Json& json);
// Seconds, rounded up, at least one.
std::string retry_after(int64_t ms);

}  // namespace omnirt::serve
