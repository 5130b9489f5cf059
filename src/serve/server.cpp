#include "serve/server.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/path_text.hpp"
#include "serve/broker/broker_jobs.hpp"
#include "serve/disk_reserve.hpp"
#include "serve/dispatcher.hpp"
#include "serve/problem.hpp"
#include "serve/served_models.hpp"
#include "serve/sqlite_store.hpp"
#include "serve/state_folder.hpp"
#include "serve/temporary_store.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;

namespace {

std::unique_ptr<JobStore> open_store(const std::string& state, const fs::path& folder) {
  if (state.empty()) return std::make_unique<TemporaryJobStore>(folder / "results");
  return std::make_unique<SqliteJobStore>(folder / "jobs.sqlite");
}

std::vector<ApiKey> read_keys(const ServerOptions& options) {
  if (!options.key_file.empty()) return ApiKeys::read(options.key_file);
  if (is_loopback(address_of_host(options.host))) return {};
  throw InvalidRequest({"--host", options.host, "is open to other machines, which needs keys",
                        "give --api-key-file, or 127.0.0.1"});
}

// What a worker is told, and not the server that it works for.
void refuse_runs_of_workers(const ServerOptions& options) {
  if (!options.redis) return;
  const char* here = "is of jobs that run in this process; those at Redis are run by workers";
  if (!options.state.empty())
    throw InvalidRequest({"--state", options.state, here, "omit it: Redis keeps the jobs"});
  if (!options.devices.empty())
    throw InvalidRequest(
        {"--backend", options.devices.front(), here, "omit it, and give it to omnirt worker"});
  if (!options.api.memory_budget.empty())
    throw InvalidRequest({"--memory-budget", options.api.memory_budget, here,
                          "omit it, and give it to omnirt worker"});
}

// A job must be able to run on each of them.
std::vector<DeviceId> devices_of(Session& session, const ServerOptions& options) {
  std::vector<DeviceId> devices;
  for (const std::string& name : options.devices) {
    const DeviceId device = session.device(name, "--backend");
    if (std::ranges::find(devices, device) != devices.end())
      throw InvalidRequest({"--backend", name, "is given twice", "give each device once"});
    if (!devices.empty() && device.backend != devices.front().backend)
      throw InvalidRequest({"--backend", name,
                            fmt::format("is not of backend {}, as {} is", devices.front().backend,
                                        devices.front().text()),
                            "give devices of one backend, or start a server for each backend"});
    devices.push_back(device);
  }
  if (devices.size() > 1 && !options.api.memory_budget.empty())
    throw InvalidRequest({"--memory-budget", options.api.memory_budget,
                          "plans each run as the only one of the process",
                          "omit it, or give one device"});
  return devices;
}

// As browsers send them. "null" is the origin of every sandboxed frame, whoever's page it is in.
std::set<std::string> read_origins(const std::set<std::string>& given) {
  std::set<std::string> origins;
  for (const std::string& text : given) {
    const auto origin = parse_origin(text);
    if (!origin)
      throw InvalidRequest({"--cors-origin", text.substr(0, 200), "is not the origin of a page",
                            "give a scheme, a host and, unless it is the usual one, a port, "
                            "without a path: http://localhost:3000"});
    origins.insert(origin->text());
  }
  return origins;
}

ApiLimits api_limits(const ServerOptions& options, const std::vector<DeviceId>& devices) {
  ApiLimits limits = options.api;
  limits.devices = devices;
  limits.origins = read_origins(options.api.origins);
  limits.local_only = options.key_file.empty();
  limits.keep_ms = options.jobs.queue.keep_ms;
  return limits;
}

// One line of JSON per request.
void log_request(const Api& api, const HttpRequest& request, int status, size_t bytes, double ms) {
  const Json line = {{"request_id", request.id}, {"client", api.client_of(request)},
                     {"peer", request.peer},     {"method", request.method},
                     {"path", request.path},     {"status", status},
                     {"bytes", bytes},           {"ms", static_cast<int64_t>(ms)}};
  spdlog::info("access {}", text_of(line));
}

// What was sent is named as what lies in the server's folders.
ServedModels with_adapters(ServedModels models, const AdapterStore* adapters) {
  if (!adapters) return models;
  models.lora_folders.push_back(adapters->loras());
  models.controlnets = adapters->controlnets();
  return models;
}

// The span of a request that is over.
Span span_of(const HttpRequest& request, int status, double ms) {
  const int64_t now = unix_ns();
  const std::string route = Api::route_of(request.path);
  return {.within = request.trace,
          .id = request.span,
          .name = request.method + " " + route,
          .kind = SpanKind::server,
          .begun_ns = now - static_cast<int64_t>(ms * 1e6),
          .ended_ns = now,
          .attributes = {{"http.request.method", request.method},
                         {"http.route", route},
                         {"http.response.status_code", status},
                         {"omnirt.request.id", request.id}},
          .error = status >= 500 ? std::to_string(status) : ""};
}

}  // namespace

struct Server::Impl {
  Impl(Session& session, const ServerOptions& options)
      : session(session),
        devices((refuse_runs_of_workers(options), devices_of(session, options))),
        folder(options.state),
        adapters(options.redis ? nullptr
                               : std::make_unique<AdapterStore>(folder.path() / "adapters",
                                                                options.adapters)),
        models(with_adapters(find_served_models(session, options.models, options.lora_folders),
                             adapters.get())),
        keys(read_keys(options)),
        files(folder.path() / "jobs", /*lasts=*/!options.state.empty()),
        traces(open_traces(options.otlp_endpoint)),
        jobs(options.redis ? at_broker(options) : in_process(session, options)),
        api({session, *jobs, files, keys, metrics, clock, models, adapters.get(),
             options.redis ? nullptr : &validated, folder.path()},
            api_limits(options, devices)),
        http(options.host, options.port, options.http, program()) {
    jobs->on_forgotten = [this](const std::string& id) { files.remove(id); };
    jobs->on_change = [this](const Job& job) { metrics.count(job); };
    if (traces) metrics.traces = [this] { return traces->counts(); };
    api.later = [this](std::function<void()> work) { http.later(std::move(work)); };
    api.connections = [this] { return http.connections(); };
  }

  std::unique_ptr<Jobs> in_process(Session& session, const ServerOptions& options) {
    DiskReserve reserve(folder.path());
    const bool lasts = !options.state.empty();
    if (lasts && reserve.release_if_full())
      spdlog::warn("the disk is full: no job is accepted until some are deleted");
    store = open_store(options.state, folder.path());
    DispatcherLimits limits = options.jobs;
    limits.devices = devices;
    auto made = std::make_unique<Dispatcher>(
        *store, clock, limits,
        RunOnSession(session, files, models,
                     {.memory_budget = options.api.memory_budget,
                      .on_report = [this](const RunReport& report) { metrics.count(report); },
                      .traces = traces.get(),
                      .validated = &validated}));
    files.sweep(made->ids());
    if (lasts) reserve.take();
    return made;
  }

  std::unique_ptr<Jobs> at_broker(const ServerOptions& options) {
    auto made = std::make_unique<BrokerJobs>(
        BrokerJobs::Options{*options.redis, options.jobs.queue, options.lease_ms}, files);
    files.fetch = [jobs = made.get()](const std::string& job, const std::string& name) {
      return jobs->fetch(job, name);
    };
    metrics.broker = [jobs = made.get()] { return jobs->figures(); };
    return made;
  }

  HttpProgram program() {
    return {.admit = [this](const HttpRequest& request) { return api.admit(request); },
            .place_body = [this](const HttpRequest& request,
                                 uint64_t bytes) { return api.place_body(request, bytes); },
            .handle = [this](const std::shared_ptr<HttpExchange>& each) { api.handle(each); },
            .log =
                [this](const HttpRequest& request, int status, size_t bytes, double ms) {
                  metrics.count_request(Api::route_of(request.path), status, ms);
                  log_request(api, request, status, bytes, ms);
                  if (traces && !request.span.empty()) traces->add(span_of(request, status, ms));
                },
            .refuse =
                [this](const HttpRequest& request, int status, const std::string& detail) {
                  return api.refuse(request, status, detail);
                }};
  }

  Session& session;
  std::optional<PathNames> names;  // from the start on: until then errors are the operator's
  std::vector<DeviceId> devices;
  StateFolder folder;
  std::unique_ptr<AdapterStore> adapters;  // null: jobs run elsewhere
  ServedModels models;
  ApiKeys keys;
  SystemQueueClock clock;
  Metrics metrics;
  std::unique_ptr<JobStore> store;
  JobFiles files;
  ValidatedJobs validated;
  std::unique_ptr<TraceExporter> traces;
  std::unique_ptr<Jobs> jobs;
  Api api;
  HttpServer http;
};

Server::Server(Session& session, const ServerOptions& options)
    : impl_(std::make_unique<Impl>(session, options)) {}

Server::~Server() {
  stop();
}

uint16_t Server::port() const {
  return impl_->http.port();
}

std::vector<std::string> Server::models() const {
  std::vector<std::string> names;
  for (const auto& [name, model] : impl_->models.models) names.push_back(name);
  return names;
}

void Server::start() {
  impl_->names.emplace(names_of_folders(impl_->session, impl_->models));
  impl_->jobs->start();
  impl_->http.start();
}

bool Server::drain(int64_t ms) {
  return impl_->jobs->drain(ms);
}

void Server::hand_back() {
  impl_->jobs->hand_back();
}

// The jobs first: who waits for one is answered.
void Server::stop() {
  impl_->jobs->stop();
  impl_->http.stop();
}

}  // namespace omnirt::serve
