// Jobs: listed, shown, cancelled, followed, and what they made.
#include <fmt/format.h>

#include <charconv>

#include "serve/api.hpp"
#include "serve/event_piece.hpp"
#include "serve/file_answer.hpp"
#include "serve/problem.hpp"

namespace omnirt::serve {
namespace {

// Nothing of a text that is no number.
std::optional<int64_t> number_of(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

Json Api::job_json(const JobView& view, bool with_report) const {
  const Job& job = view.job;
  const std::string self = "/v1/jobs/" + job.id;
  Json json = {{"id", job.id},
               {"state", name_of(job.state)},
               {"model", job.model},
               {"priority", name_of(job.priority)},
               {"created_ms", job.created_ms},
               {"attempts", job.attempts},
               {"crashes", job.crashes},
               {"events_url", self + "/events"}};
  if (job.deadline_ms > 0) json["deadline_ms"] = job.deadline_ms;
  if (job.started_ms > 0) json["started_ms"] = job.started_ms;
  if (has_ended(job.state)) {
    json["ended_ms"] = job.ended_ms;
  } else {
    json["estimated_ms"] = view.remaining_ms;
    json["cancelling"] = job.cancelling;
  }
  if (job.state == JobState::running)
    json["progress"] = {{"stage", view.progress.stage},
                        {"step", view.progress.step},
                        {"steps", view.progress.steps}};
  if (!job.reason.kind.empty())
    json["error"] = {{"kind", job.reason.kind}, {"message", job.reason.message}};
  if (job.result.empty()) return json;
  Json result = parse_json(job.result, "the stored result", max_job_result_bytes);
  json["artifacts"] = result["artifacts"];
  size_t number = 0;
  for (Json& artifact : json["artifacts"])
    artifact["url"] = fmt::format("{}/artifacts/{}", self, number++);
  if (!with_report) return json;
  json["report"] = result["report"];
  if (result.contains("request")) json["request"] = result["request"];
  return json;
}

// Jobs of others are as good as not there.
std::optional<JobView> Api::visible(const HttpRequest& request, const std::string& id) const {
  auto view = parts_.jobs.find(id);
  if (!view) return std::nullopt;
  const ApiKey* key = key_of(request);
  const bool all = key && key->scopes.contains(Scope::admin);
  if (!all && view->job.client != client_of(request)) return std::nullopt;
  return view;
}

size_t Api::limit_of(const HttpRequest& request, size_t usual, size_t most) {
  auto limit = request.query.find("limit");
  if (limit == request.query.end()) return usual;
  auto given = number_of(limit->second);
  if (given && *given >= 1 && *given <= static_cast<int64_t>(most))
    return static_cast<size_t>(*given);
  throw InvalidRequest(
      {"limit", limit->second.substr(0, 100), "out of range", fmt::format("give 1 to {}", most)});
}

std::string Api::client_or_all(const HttpRequest& request) const {
  const ApiKey* key = key_of(request);
  return key && key->scopes.contains(Scope::admin) ? "" : client_of(request);
}

void Api::list(const Exchange& exchange, const Values&) {
  const HttpRequest& request = exchange->request();
  const size_t most = limit_of(request, most_listed_jobs, most_listed_jobs);
  Json jobs = Json::array();
  for (const JobView& view : parts_.jobs.list(client_or_all(request), most))
    jobs.push_back(job_json(view, false));
  respond(exchange, json_response(200, {{"jobs", jobs}}));
}

// Throws where there is none that the client may see.
JobView Api::named(const HttpRequest& request, const std::string& id) const {
  if (auto view = visible(request, id)) return *view;
  throw HttpRefusal(404, "NoSuchJob", "there is no such job, or no more");
}

void Api::job(const Exchange& exchange, const Values& values) {
  respond(exchange, json_response(200, job_json(named(exchange->request(), values[0]), true)));
}

void Api::cancel(const Exchange& exchange, const Values& values) {
  const JobView view = named(exchange->request(), values[0]);
  auto now = parts_.jobs.cancel(view.job.id);
  const bool ended = now && has_ended(now->job.state);
  respond(exchange, json_response(ended ? 200 : 202, job_json(now.value_or(view), false)));
}

void Api::job_artifact(const Exchange& exchange, const Values& values) {
  const HttpRequest& request = exchange->request();
  const JobView view = named(request, values[0]);
  respond(exchange, artifact(request, job_json(view, false), values[1]));
}

HttpResponse Api::artifact(const HttpRequest& request, const Json& job,
                           const std::string& number) const {
  auto at = number_of(number);
  if (!job.contains("artifacts") || !at || static_cast<size_t>(*at) >= job["artifacts"].size()) {
    return problem(404, "no-such-artifact", "the job has no such artifact", request.id);
  }
  const Json& artifact = job["artifacts"][static_cast<size_t>(*at)];
  const std::string id = job["id"].get<std::string>();
  const auto path = parts_.files.path_of(id, artifact["name"].get<std::string>());
  HttpResponse response = file_answer(request, path, fmt::format("\"{}-{}\"", id, *at));
  response.headers.emplace_back("X-Job-Id", id);
  return response;
}

// A client that comes back says which event it saw last, and is given those after it; one that saw
// the end is told not to come again (204).
void Api::job_events(const Exchange& exchange, const Values& values) {
  const HttpRequest& request = exchange->request();
  const JobView view = named(request, values[0]);
  const int64_t after = number_of(request.header("last-event-id")).value_or(-1);
  if (has_ended(view.job.state) && after >= last_event_number(view.job.attempts))
    return respond(exchange, {.status = 204, .type = ""});
  if (request.method == "HEAD") return respond(exchange, {.type = "text/event-stream"});
  HttpResponse head;
  add_cors(request, head);
  exchange->begin_events(std::move(head));
  const int64_t listener =
      parts_.jobs.listen(view.job.id, after, [this, exchange](const JobEvent& event) {
        exchange->send(event_piece(event.number, event.type, event.data));
        if (event.last) exchange->end();
      });
  if (listener == 0) return exchange->end();
  exchange->on_closed(
      [this, listener] { later([this, listener] { parts_.jobs.leave(listener); }); });
}

}  // namespace omnirt::serve
