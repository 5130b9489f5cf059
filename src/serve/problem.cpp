#include "serve/problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/report.hpp"
#include "serve/multipart.hpp"

namespace omnirt::serve {
namespace {

// "QueueFull" as "queue-full".
std::string word_of(const std::string& kind) {
  std::string word;
  for (unsigned char each : kind) {
    if (std::isupper(each) && !word.empty()) word += '-';
    word += static_cast<char>(std::tolower(each));
  }
  return word;
}

std::string title_of(const std::string& kind) {
  std::string title = kind;
  std::replace(title.begin(), title.end(), '-', ' ');
  return title;
}

// A server that is well and has too much to do asks for fewer requests; 503 is of one that takes
// none.
int status_of_refusal(const QueueRefusal& refusal) {
  if (refusal.kind() == "Draining") return 503;
  return refusal.retry_after_ms > 0 ? 429 : 422;
}

int status_of(const std::string& kind) {
  return kind == "DiskFull" ? 507 : 500;
}

}  // namespace

std::string require_type(const HttpRequest& request, const std::vector<std::string>& taken) {
  const std::string& given = request.header("content-type");
  const std::string type = given.empty() ? json_media : media_type(given);
  if (std::find(taken.begin(), taken.end(), type) != taken.end()) return type;
  throw HttpRefusal(
      415, "WrongType",
      fmt::format("Content-Type: {}: this route takes {}",
                  given.empty() ? "none" : given.substr(0, 100), fmt::join(taken, " or ")));
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

HttpResponse json_response(int status, const Json& json) {
  return {.status = status, .body = text_of(json) + "\n"};
}

std::string retry_after(int64_t ms) {
  return std::to_string(std::max<int64_t>((ms + 999) / 1000, 1));
}

HttpResponse problem(int status, const std::string& kind, const std::string& detail,
                     const std::string& id, const std::vector<Finding>& findings) {
  Json json = {{"type", "urn:omnirt:problem:" + kind},
               {"title", title_of(kind)},
               {"status", status},
               {"detail", detail},
               {"instance", "urn:omnirt:request:" + id}};
  if (!findings.empty()) {
    json["errors"] = Json::array();
    for (const Finding& finding : findings) json["errors"].push_back(to_json(finding));
  }
  HttpResponse response = json_response(status, json);
  response.type = "application/problem+json";
  return response;
}

HttpResponse problem_of(const Error& error, const std::string& id) {
  if (const auto* refusal = dynamic_cast<const QueueRefusal*>(&error)) {
    HttpResponse response =
        problem(status_of_refusal(*refusal), word_of(error.kind()), error.what(), id);
    if (refusal->retry_after_ms > 0)
      response.headers.emplace_back("Retry-After", retry_after(refusal->retry_after_ms));
    return response;
  }
  if (const auto* refused = dynamic_cast<const HttpRefusal*>(&error))
    return problem(refused->status, word_of(error.kind()), error.what(), id);
  if (const auto* invalid = dynamic_cast<const InvalidRequest*>(&error)) {
    const size_t count = invalid->findings().size();
    const std::string detail = count == 1 ? invalid->findings().front().text()
                                          : std::to_string(count) + " things are wrong: errors";
    return problem(422, word_of(error.kind()), detail, id, invalid->findings());
  }
  if (error.kind() == "BrokerLost") {  // where it is, is this side's business
    HttpResponse response =
        problem(503, word_of(error.kind()), "the broker of jobs cannot be reached", id);
    response.headers.emplace_back("Retry-After", "1");
    return response;
  }
  if (error.kind() == "BrokerRefused")
    return problem(500, word_of(error.kind()), "the broker of jobs refused a command", id);
  HttpResponse response = problem(status_of(error.kind()), word_of(error.kind()), error.what(), id);
  if (response.status == 507) response.headers.emplace_back("Retry-After", "30");
  return response;
}

HttpResponse problem_of_job(const Job& job, const std::string& id) {
  const std::string& kind = job.reason.kind;
  int status = status_of(kind);
  if (job.state == JobState::cancelled) status = 409;
  if (kind == "ClientGone" || kind == "ServerEnding") status = 503;
  if (job.state == JobState::expired) status = 504;
  for (const char* each :
       {"InvalidRequest", "InvalidFile", "Unsupported", "UnknownModel", "WeightMismatch"}) {
    if (kind == each) status = 422;
  }
  return problem(status, word_of(kind.empty() ? "RunFailed" : kind), job.reason.message, id);
}

}  // namespace omnirt::serve
