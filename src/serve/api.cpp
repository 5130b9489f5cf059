#include "serve/api.hpp"

#include <spdlog/spdlog.h>
#include <strings.h>

#include "base/report.hpp"
#include "serve/base64.hpp"
#include "serve/openai.hpp"
#include "serve/page.hpp"
#include "serve/problem.hpp"
#include "serve/webui.hpp"

namespace omnirt::serve {
namespace {

// A page that this server gave: its origin names the host and port that the request was sent to,
// by whichever scheme a proxy in front of the server speaks.
bool is_own_page(const WebOrigin& origin, const std::optional<Authority>& host) {
  if (!host) return false;
  const auto sent_to = parse_origin(origin.scheme + "://" + WebOrigin{"", *host}.text().substr(3));
  return (origin.scheme == "http" || origin.scheme == "https") && sent_to == origin;
}

// A problem as the clients of a route read errors.
HttpResponse in_form_of(const std::string& path, HttpResponse response) {
  if (is_openai(path)) return openai_error(std::move(response));
  return is_webui(path) ? webui_error(std::move(response)) : response;
}

// "" where there is none.
std::string key_in_protocols(const HttpRequest& request) {
  constexpr std::string_view before = "omnirt.key.";
  const std::string& protocols = request.header("sec-websocket-protocol");
  const size_t at = protocols.find(before);
  if (at == std::string::npos) return "";
  const size_t begin = at + before.size();
  return protocols.substr(begin, protocols.find_first_of(", ", begin) - begin);
}

// The password of HTTP Basic (RFC 7617), which stable-diffusion-webui's clients send.
std::string password_of(std::string_view basic) {
  const std::string text = bytes_of_base64(basic).value_or("");
  const size_t colon = text.find(':');
  return colon == std::string::npos ? "" : text.substr(colon + 1);
}

Scope scope_of(Access access) {
  if (access == Access::metrics) return Scope::metrics;
  return access == Access::adapters ? Scope::adapters : Scope::generate;
}

}  // namespace

// "Authorization: Bearer KEY", "Authorization: Basic NAME:KEY", "X-Api-Key: KEY", or, as a page
// opens a WebSocket, "Sec-WebSocket-Protocol: omnirt.v1, omnirt.key.KEY".
const ApiKey* Api::key_of(const HttpRequest& request) const {
  const std::string& given = request.header("authorization");
  if (strncasecmp(given.c_str(), "bearer ", 7) == 0) return parts_.keys.find(given.substr(7));
  if (strncasecmp(given.c_str(), "basic ", 6) == 0)
    return parts_.keys.find(password_of(given.substr(6)));
  const std::string& key = request.header("x-api-key");
  if (!key.empty()) return parts_.keys.find(key);
  const std::string protocol = request.upgrade ? key_in_protocols(request) : "";
  return protocol.empty() ? nullptr : parts_.keys.find(protocol);
}

std::string Api::client_of(const HttpRequest& request) const {
  if (parts_.keys.empty()) return "anonymous";
  const ApiKey* key = key_of(request);
  return key ? key->name : "";
}

// Pages of other origins ask nothing here unless the server was started for them; nor does a name
// that someone points at this machine, where there are no keys.
std::optional<HttpResponse> Api::refuse_origin(const HttpRequest& request) const {
  const auto host = parse_authority(request.header("host"));
  if (limits_.local_only && (!host || !is_loopback(host->host)))
    return problem(421, "wrong-host", "without keys the server answers as localhost alone",
                   request.id);
  if (!request.headers.contains("origin")) return std::nullopt;
  const auto origin = parse_origin(request.header("origin"));
  if (origin && (limits_.origins.contains(origin->text()) || is_own_page(*origin, host)))
    return std::nullopt;
  return problem(403, "wrong-origin", "pages of this origin may not ask this server", request.id);
}

std::optional<HttpResponse> Api::refuse_key(const HttpRequest& request) {
  const Access access = access_of(request);
  if (parts_.keys.empty() || access == Access::open) return std::nullopt;
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
  const Scope needed = scope_of(access);
  if (key->scopes.contains(needed) || key->scopes.contains(Scope::admin)) return std::nullopt;
  return problem(403, "wrong-scope", "this key may not do that", request.id);
}

std::optional<HttpResponse> Api::admit(const HttpRequest& request) {
  auto refused = refuse_origin(request);
  if (!refused && request.method != "OPTIONS") refused = refuse_key(request);
  if (refused) refused = in_form(request, std::move(*refused));
  return refused;
}

HttpResponse Api::refuse(const HttpRequest& request, int status, const std::string& detail) const {
  return in_form(request, problem(status, "refused", detail, request.id));
}

// As the route's clients read it, and pages of other origins may.
HttpResponse Api::in_form(const HttpRequest& request, HttpResponse response) const {
  response = in_form_of(request.path, std::move(response));
  add_cors(request, response);
  return response;
}

void Api::add_cors(const HttpRequest& request, HttpResponse& response) const {
  const auto origin = parse_origin(request.header("origin"));
  if (!origin || !limits_.origins.contains(origin->text())) return;
  response.headers.emplace_back("Access-Control-Allow-Origin", request.header("origin"));
  response.headers.emplace_back("Vary", "Origin");
  response.headers.emplace_back("Access-Control-Expose-Headers",
                                "Accept-Ranges, Content-Range, ETag, Location, Retry-After, "
                                "X-Request-Id");
  if (request.method != "OPTIONS") return;
  response.headers.emplace_back("Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE");
  response.headers.emplace_back("Access-Control-Allow-Headers",
                                "Authorization, X-Api-Key, Content-Type, Last-Event-ID, Range, "
                                "If-Range");
}

void Api::respond(const Exchange& exchange, HttpResponse response) const {
  exchange->respond(in_form(exchange->request(), std::move(response)));
}

void Api::handle(const Exchange& exchange) {
  const std::string& id = exchange->request().id;
  try {
    route(exchange);
  } catch (...) {
    respond(exchange, problem_now(id));
  }
}

HttpResponse Api::problem_now(const std::string& request) const {
  try {
    throw;
  } catch (const Error& error) {
    return problem_of(error, request);
  } catch (const std::exception& error) {
    spdlog::error("request {}: {}", request, error.what());
  } catch (...) {
    spdlog::error("request {}: an unknown exception", request);
  }
  return problem(500, "internal-error", "the request failed inside of the server", request);
}

void Api::health(const Exchange& exchange, const Values&) {
  respond(exchange, json_response(200, {{"status", "ok"}}));
}

void Api::ready(const Exchange& exchange, const Values&) {
  std::string why = parts_.jobs.refuses();
  if (why.empty() && !has_room(0)) why = "disk full";
  respond(exchange,
          json_response(why.empty() ? 200 : 503, {{"status", why.empty() ? "ready" : why}}));
}

void Api::page(const Exchange& exchange, const Values&) {
  if (auto found = page_of(exchange->request().path)) return respond(exchange, std::move(*found));
  refuse_route(exchange);
}

void Api::metrics(const Exchange& exchange, const Values&) {
  const Jobs::Counts counts = parts_.jobs.counts();
  respond(exchange, {.type = "text/plain; version=0.0.4",
                     .body = parts_.metrics.text({counts.waiting, counts.running, connections()})});
}

// What requests may name as their model, with what the registry says of it.
void Api::models(const Exchange& exchange, const Values&) {
  Json all = Json::array(), openai = Json::array();
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
    openai.push_back({{"id", id}, {"object", "model"}, {"created", 0}, {"owned_by", "omnirt"}});
  }
  // OpenAI's clients read `data`.
  respond(exchange, json_response(200, {{"models", all}, {"object", "list"}, {"data", openai}}));
}

// What a model's tasks take: inputs, config keys with their limits, schedulers.
void Api::model(const Exchange& exchange, const Values& values) {
  const std::string id = url_decoded(values[0]);
  auto found = parts_.models.models.find(id);
  if (found == parts_.models.models.end()) {
    respond(exchange, problem(404, "no-such-model", "this server has no model of this name",
                              exchange->request().id));
    return;
  }
  Json described = parts_.session.model(found->second);
  described["id"] = id;
  for (Json& task : described["tasks"]) task.erase("found_at");
  respond(exchange, json_response(200, described));
}

}  // namespace omnirt::serve
