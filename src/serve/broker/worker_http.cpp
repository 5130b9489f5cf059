#include "serve/broker/worker_http.hpp"

#include "serve/problem.hpp"

namespace omnirt::serve {
namespace {

std::vector<ApiKey> read_keys(const std::string& host, const std::string& key_file) {
  if (!key_file.empty()) return ApiKeys::read(key_file);
  if (is_loopback(host)) return {};
  throw InvalidRequest({"--host", host, "is open to other machines, which needs keys",
                        "give --api-key-file, or 127.0.0.1"});
}

}  // namespace

WorkerHttp::WorkerHttp(const std::string& host, uint16_t port, const std::string& key_file,
                       Metrics& metrics, std::function<Condition()> condition)
    : keys_(read_keys(host, key_file)),
      metrics_(metrics),
      condition_(std::move(condition)),
      server_(host, port, HttpLimits{.workers = 1}, program()) {}

HttpProgram WorkerHttp::program() {
  return {.admit = [this](const HttpRequest& request) { return admit(request); },
          .handle = [this](const std::shared_ptr<HttpExchange>& each) { answer(each); },
          .log = [this](const HttpRequest&, int status, size_t,
                        double ms) { metrics_.count_request("worker", status, ms); },
          .refuse =
              [](const HttpRequest& request, int status, const std::string& detail) {
                return problem(status, "refused", detail, request.id);
              }};
}

std::optional<HttpResponse> WorkerHttp::admit(const HttpRequest& request) const {
  const auto host = parse_authority(request.header("host"));
  if (keys_.empty() && (!host || !is_loopback(host->host)))
    return problem(421, "wrong-host", "without keys the worker answers as localhost alone",
                   request.id);
  constexpr std::string_view before = "Bearer ";
  if (keys_.empty() || request.path != "/metrics") return std::nullopt;
  const std::string& given = request.header("authorization");
  const ApiKey* key = given.starts_with(before) ? keys_.find(given.substr(before.size())) : nullptr;
  if (!key) return problem(401, "no-key", "a key is needed: Authorization: Bearer KEY", request.id);
  if (key->scopes.contains(Scope::metrics) || key->scopes.contains(Scope::admin))
    return std::nullopt;
  return problem(403, "wrong-scope", "this key may not do that", request.id);
}

void WorkerHttp::answer(const std::shared_ptr<HttpExchange>& exchange) const {
  const HttpRequest& request = exchange->request();
  if (request.method != "GET" && request.method != "HEAD")
    return exchange->respond(problem(405, "wrong-method", "give GET", request.id));
  if (request.path == "/healthz") return exchange->respond(json_response(200, {{"status", "ok"}}));
  const Condition now = condition_();
  if (request.path == "/readyz") {
    const bool ready = !now.leaving && now.reachable;
    const char* status = now.leaving ? "draining" : now.reachable ? "ready" : "no broker";
    return exchange->respond(json_response(ready ? 200 : 503, {{"status", status}}));
  }
  if (request.path != "/metrics")
    return exchange->respond(problem(404, "no-such-route", "there is no such route", request.id));
  exchange->respond({.type = "text/plain; version=0.0.4",
                     .body = metrics_.text({.running = now.runs ? size_t{1} : size_t{0}})});
}

}  // namespace omnirt::serve
