#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace omnirt::serve {

// Who may ask.
enum class Access { open, generate, metrics, adapters };

// One route: dispatched, counted and described in /openapi.json by the same declaration.
struct RouteInfo {
  std::string method;
  std::string path;  // "/v1/jobs/{id}/events"; a name in braces at its end takes all that is left
  std::string summary;  // one line
  Access access = Access::generate;
  std::string body{};                // schema of its JSON body (serve/openapi); "": none
  std::string form{};                // schema of a multipart/form-data body; "": none
  int status = 200;                  // of success
  std::string answer{};              // schema of its JSON answer; "": none
  std::vector<std::string> types{};  // of answers that are no JSON: "image/*", "text/event-stream"
  std::vector<int> others{};         // further statuses of success
  std::vector<std::string> query{};  // names of what may stand in its query
  std::vector<std::string> headers{};    // that it reads, besides those of all routes
  bool runs = false;                     // it may wait for a job, and answer with how that ended
  std::map<int, std::string> refuses{};  // its own reasons to refuse, by status
};

inline constexpr const char* adapters_path = "/v1/adapters";

// In one answer.
inline constexpr size_t most_listed_jobs = 200;
inline constexpr size_t most_listed_videos = 100;

// What stands in `path` where the template has names in braces, in their order; nothing where it
// does not match.
std::optional<std::vector<std::string>> values_of(std::string_view form, std::string_view path);
// The names in braces of a template.
std::vector<std::string> names_of_path(std::string_view form);

}  // namespace omnirt::serve
