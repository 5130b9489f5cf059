#include "serve/server.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdlib>

#include "io/temporaries.hpp"
#include "serve/problem.hpp"
#include "serve/served_models.hpp"
#include "serve/sqlite_store.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;

// Where the jobs are: the folder that was named, or one of the process's own, which goes with it.
class StateFolder {
 public:
  explicit StateFolder(const std::string& named) : temporary_(named.empty()) {
    path_ =
        temporary_ ? io::keep_temporary(make_temporary) : fs::absolute(named).lexically_normal();
    std::error_code error;
    fs::create_directories(path_, error);
    if (!fs::is_directory(path_, error))
      throw InvalidRequest({"--state", named, "the folder cannot be made", "name another"});
  }
  ~StateFolder() {
    if (!temporary_) return;
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    io::forget_temporary(path_);
  }
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  static fs::path make_temporary() {
    std::string name = (fs::temp_directory_path() / "omnirt-serve-XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw InvalidRequest({"--state", name, "no temporary folder can be made", "name a folder"});
    return name;
  }
  bool temporary_;
  fs::path path_;
};

namespace {

std::unique_ptr<JobStore> open_store(const std::string& state, const fs::path& folder) {
  if (state.empty()) return std::make_unique<MemoryJobStore>();
  return std::make_unique<SqliteJobStore>(folder / "jobs.sqlite");
}

std::vector<ApiKey> read_keys(const ServerOptions& options) {
  if (!options.key_file.empty()) return ApiKeys::read(options.key_file);
  if (is_loopback(options.host)) return {};
  throw InvalidRequest({"--host", options.host, "is open to other machines, which needs keys",
                        "give --api-key-file, or 127.0.0.1"});
}

ApiLimits api_limits(const ServerOptions& options) {
  ApiLimits limits = options.api;
  limits.local_only = options.key_file.empty();
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

}  // namespace

struct Server::Impl {
  Impl(Session& session, const ServerOptions& options)
      : folder(options.state),
        models(find_served_models(session, options.models, options.lora_folders)),
        hider(hidden_folders(models, folder.path())),
        keys(read_keys(options)),
        store(open_store(options.state, folder.path())),
        files(folder.path() / "jobs"),
        jobs(*store, clock, options.jobs,
             RunOnSession(session, files, hider,
                          [this](const RunReport& report) { metrics.count(report); })),
        api({session, jobs, files, keys, metrics, clock, models, hider}, api_limits(options)),
        http(options.host, options.port, options.http, program()) {
    std::set<std::string> known;
    for (const JobView& view : jobs.list("", SIZE_MAX)) known.insert(view.job.id);
    files.sweep(known);
    jobs.on_forgotten = [this](const std::string& id) { files.remove(id); };
    jobs.on_change = [this](const Job& job) { metrics.count(job); };
    api.later = [this](std::function<void()> work) { http.later(std::move(work)); };
    api.connections = [this] { return http.connections(); };
  }

  HttpProgram program() {
    return {.admit = [this](const HttpRequest& request) { return api.admit(request); },
            .handle = [this](const std::shared_ptr<HttpExchange>& each) { api.handle(each); },
            .log =
                [this](const HttpRequest& request, int status, size_t bytes, double ms) {
                  metrics.count_request(Api::route_of(request.path), status, ms);
                  log_request(api, request, status, bytes, ms);
                },
            .refuse =
                [this](const HttpRequest& request, int status, const std::string& detail) {
                  return api.refuse(request, status, detail);
                }};
  }

  StateFolder folder;
  ServedModels models;
  PathHider hider;
  ApiKeys keys;
  SystemQueueClock clock;
  Metrics metrics;
  std::unique_ptr<JobStore> store;
  JobFiles files;
  Dispatcher jobs;
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
  impl_->jobs.start();
  impl_->http.start();
}

bool Server::drain(int64_t ms) {
  return impl_->jobs.drain(ms);
}

void Server::hand_back() {
  impl_->jobs.hand_back();
}

// The jobs first: who waits for one is answered.
void Server::stop() {
  impl_->jobs.stop();
  impl_->http.stop();
}

}  // namespace omnirt::serve
