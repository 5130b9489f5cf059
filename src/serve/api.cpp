#include "serve/api.hpp"

#include <spdlog/spdlog.h>
#include <strings.h>

#include "base/report.hpp"
#include "serve/openai.hpp"
#include "serve/page.hpp"
#include "serve/problem.hpp"

namespace omnirt::serve {
namespace {

constexpr std::string_view jobs_path = "/v1/jobs/", models_path = "/v1/models/";

// "example.org:8000" without the port.
std::string host_of(const std::string& host) {
  const size_t bracket = host.find(']');
  const size_t colon = host.find(':', bracket == std::string::npos ? 0 : bracket);
  return host.substr(0, colon);
}

// What needs no key: the page asks for one itself.
bool is_open(const std::string& path) {
  return path == "/healthz" || path == "/readyz" || path == "/" || path.starts_with("/page/");
}

}  // namespace

std::string Api::route_of(const std::string& path) {
  static const std::set<std::string> fixed{
      "/healthz",        "/readyz",      "/metrics", "/v1/models",
      "/v1/generate",    "/v1/validate", "/v1/jobs", "/v1/images/generations",
      "/v1/images/edits"};
  if (fixed.contains(path)) return path;
  if (path == "/" || path.starts_with("/page/")) return "/page";
  if (path.starts_with(models_path)) return "/v1/models/{id}";
  if (!path.starts_with(jobs_path)) return "other";
  const std::string rest = path.substr(jobs_path.size());
  const size_t slash = rest.find('/');
  if (slash == std::string::npos) return "/v1/jobs/{id}";
  const std::string what = rest.substr(slash);
  if (what == "/events") return "/v1/jobs/{id}/events";
  return what.starts_with("/artifacts/") ? "/v1/jobs/{id}/artifacts/{n}" : "other";
}

// "Authorization: Bearer KEY", or "X-Api-Key: KEY".
const ApiKey* Api::key_of(const HttpRequest& request) const {
  const std::string& bearer = request.header("authorization");
  if (strncasecmp(bearer.c_str(), "bearer ", 7) == 0) return parts_.keys.find(bearer.substr(7));
  const std::string& key = request.header("x-api-key");
  return key.empty() ? nullptr : parts_.keys.find(key);
}

std::string Api::client_of(const HttpRequest& request) const {
  if (parts_.keys.empty()) return "anonymous";
  const ApiKey* key = key_of(request);
  return key ? key->name : "";
}

// Pages of other origins ask nothing here unless the server was started for them; nor does a name
// that someone points at this machine, where there are no keys.
std::optional<HttpResponse> Api::refuse_origin(const HttpRequest& request) const {
  const std::string& host = request.header("host");
  if (limits_.local_only && !is_loopback(host_of(host)))
    return problem(421, "wrong-host", "without keys the server answers as localhost alone",
                   request.id);
  const std::string& origin = request.header("origin");
  if (origin.empty() || limits_.origins.contains(origin) || origin == "http://" + host)
    return std::nullopt;
  return problem(403, "wrong-origin", "pages of this origin may not ask this server", request.id);
}

std::optional<HttpResponse> Api::refuse_key(const HttpRequest& request) {
  if (parts_.keys.empty() || is_open(request.path)) return std::nullopt;
  const ApiKey* key = key_of(request);
  if (!key) {
    HttpResponse response =
        problem(401, "no-key", "a key is needed: Authorization: Bearer KEY", request.id);
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }
  int64_t wait_ms = 0;
  if (!parts_.keys.take(*key, parts_.clock.now_ms(), wait_ms)) {
    HttpResponse response = problem(429, "too-many-requests",
                                    "this key has had its requests of the minute", request.id);
    response.headers.emplace_back("Retry-After", retry_after(wait_ms));
    return response;
  }
  const Scope needed = request.path == "/metrics" ? Scope::metrics : Scope::generate;
  if (key->scopes.contains(needed) || key->scopes.contains(Scope::admin)) return std::nullopt;
  return problem(403, "wrong-scope", "this key may not do that", request.id);
}

std::optional<HttpResponse> Api::admit(const HttpRequest& request) {
  if (auto refused = refuse_origin(request)) return refused;
  auto refused = request.method == "OPTIONS" ? std::nullopt : refuse_key(request);
  if (!refused) return refused;
  if (is_openai(request.path)) refused = openai_error(std::move(*refused));
  add_cors(request, *refused);
  return refused;
}

void Api::add_cors(const HttpRequest& request, HttpResponse& response) const {
  const std::string& origin = request.header("origin");
  if (!limits_.origins.contains(origin)) return;
  response.headers.emplace_back("Access-Control-Allow-Origin", origin);
  response.headers.emplace_back("Vary", "Origin");
  response.headers.emplace_back("Access-Control-Expose-Headers",
                                "Location, Retry-After, X-Request-Id");
  if (request.method != "OPTIONS") return;
  response.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, DELETE");
  response.headers.emplace_back("Access-Control-Allow-Headers",
                                "Authorization, X-Api-Key, Content-Type, Last-Event-ID");
}

void Api::respond(const Exchange& exchange, HttpResponse response) const {
  if (is_openai(exchange->request().path)) response = openai_error(std::move(response));
  add_cors(exchange->request(), response);
  exchange->respond(std::move(response));
}

void Api::handle(const Exchange& exchange) {
  const std::string& id = exchange->request().id;
  try {
    route(exchange);
  } catch (const InvalidRequest& error) {
    respond(exchange, problem_of(InvalidRequest(parts_.hider.hide(error.findings())), id));
  } catch (const Error& error) {
    respond(exchange, problem_of(error, id));
  } catch (const std::exception& error) {
    spdlog::error("request {}: {}", id, error.what());
    respond(exchange,
            problem(500, "internal-error", "the request failed inside of the server", id));
  }
}

void Api::route(const Exchange& exchange) {
  const HttpRequest& request = exchange->request();
  auto allow = [&](const char* method) {
    if (request.method == method) return true;
    HttpResponse response =
        request.method == "OPTIONS"
            ? HttpResponse{.status = 204, .type = ""}
            : problem(405, "wrong-method", std::string("this route takes ") + method, request.id);
    response.headers.emplace_back("Allow", method);
    respond(exchange, std::move(response));
    return false;
  };
  const std::string& path = request.path;
  if (path == "/healthz") {
    if (allow("GET")) respond(exchange, json_response(200, {{"status", "ok"}}));
  } else if (path == "/readyz") {
    if (!allow("GET")) return;
    const bool ready = parts_.jobs.accepts();
    respond(exchange, json_response(ready ? 200 : 503, {{"status", ready ? "ready" : "draining"}}));
  } else if (path == "/metrics") {
    if (allow("GET")) respond(exchange, metrics());
  } else if (path == "/v1/models") {
    if (allow("GET")) respond(exchange, json_response(200, models()));
  } else if (path.starts_with(models_path)) {
    if (allow("GET")) model(exchange, url_decoded(path.substr(models_path.size())));
  } else if (auto page = page_of(path)) {
    if (allow("GET")) respond(exchange, std::move(*page));
  } else if (path == "/v1/generate") {
    if (allow("POST")) generate(exchange);
  } else if (path == "/v1/images/generations" || path == "/v1/images/edits") {
    if (allow("POST")) openai(exchange, path == "/v1/images/edits");
  } else if (path == "/v1/validate") {
    if (allow("POST")) validate(exchange);
  } else if (path == "/v1/jobs") {
    if (allow("GET")) list(exchange);
  } else if (path.starts_with(jobs_path)) {
    route_job(exchange, path.substr(jobs_path.size()));
  } else {
    respond(exchange, problem(404, "no-such-route", "there is no such route", request.id));
  }
}

HttpResponse Api::metrics() {
  const Dispatcher::Counts counts = parts_.jobs.counts();
  return {.type = "text/plain; version=0.0.4",
          .body = parts_.metrics.text({counts.waiting, counts.running, connections()})};
}

// What requests may name as their model, with what the registry says of it.
Json Api::models() const {
  Json all = Json::array();
  const Json known = parts_.session.models();
  for (const auto& [id, given] : parts_.models.models) {
    Json tasks = Json::array();
    Json model = {{"id", id}, {"default", id == parts_.models.first}};
    for (const Json& entry : known) {
      if (entry.value("id", "") != given || !entry.contains("family")) continue;
      model["family"] = entry["family"];
      model["summary"] = entry["summary"];
      tasks.push_back({{"task", entry["task"]},
                       {"required_inputs", entry["required_inputs"]},
                       {"optional_inputs", entry["optional_inputs"]},
                       {"default_config", entry["default_config"]},
                       {"artifact_kind", entry["artifact_kind"]}});
    }
    if (!tasks.empty()) model["tasks"] = tasks;
    all.push_back(std::move(model));
  }
  return {{"models", all}};
}

// What a model's tasks take: inputs, config keys with their limits, schedulers.
void Api::model(const Exchange& exchange, const std::string& id) const {
  auto found = parts_.models.models.find(id);
  if (found == parts_.models.models.end()) {
    respond(exchange, problem(404, "no-such-model", "this server has no model of this name",
                              exchange->request().id));
    return;
  }
  Json described = parts_.session.model(found->second);
  described["id"] = id;
  for (Json& task : described["tasks"]) task.erase("found_at");
  respond(exchange, json_response(200, parts_.hider.hide(std::move(described))));
}

}  // namespace omnirt::serve
