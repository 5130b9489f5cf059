#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "serve/adapter_store.hpp"
#include "serve/api_keys.hpp"
#include "serve/http.hpp"
#include "serve/jobs.hpp"
#include "serve/metrics.hpp"
#include "serve/openai.hpp"
#include "serve/routes.hpp"
#include "serve/run_job.hpp"
#include "serve/served_request.hpp"
#include "serve/webui.hpp"
#include "serve/webui_clients.hpp"

namespace omnirt::serve {

struct ApiLimits {
  int64_t max_pixels = int64_t{4} << 20;   // of one image, width x height
  int64_t max_images = 16;                 // of one request
  size_t inline_bytes = size_t{64} << 20;  // of artifacts within an answer
  std::string memory_budget;               // of a run, as memory_budget has it; "": none
  std::vector<DeviceId> devices;           // that the server runs jobs on; empty: requests say it
  std::set<std::string> origins;           // whose pages may ask (CORS), as browsers send them
  bool local_only = true;                  // no keys: only names of this machine as Host
  int64_t keep_ms = 0;                     // how long ended jobs are kept, as it is told
  // Left free on the disk of the state, so that jobs can still be deleted.
  uint64_t reserved_disk_bytes = uint64_t{8} << 20;
};

// The routes of the server, on top of a session, its jobs and their files.
class Api {
 public:
  struct Parts {
    Session& session;
    Jobs& jobs;
    JobFiles& files;
    ApiKeys& keys;
    Metrics& metrics;
    const QueueClock& clock;
    const ServedModels& models;
    AdapterStore* adapters = nullptr;    // null: none are taken
    ValidatedJobs* validated = nullptr;  // null: jobs run elsewhere
    std::filesystem::path state{};       // where all that is kept lies
  };
  Api(const Parts& parts, const ApiLimits& limits) : parts_(parts), limits_(limits) {}

  // Has some thread do it soon; set before the first request.
  std::function<void(std::function<void()>)> later;
  std::function<size_t()> connections = [] { return size_t{0}; };

  // By the headers alone: who asks, from where, how often.
  std::optional<HttpResponse> admit(const HttpRequest& request);
  // Of an adapter that is sent, a file; see HttpProgram.
  HttpProgram::BodyPlace place_body(const HttpRequest& request, uint64_t bytes) const;
  // A request that breaks a limit of the connection's.
  HttpResponse refuse(const HttpRequest& request, int status, const std::string& detail) const;
  void handle(const std::shared_ptr<HttpExchange>& exchange);
  // The key's name, or "anonymous"; "" of a key that is not known.
  std::string client_of(const HttpRequest& request) const;
  // The route of a request, for logs and metrics: "/v1/jobs/{id}"; "other" of what is none.
  static std::string route_of(const std::string& path);
  // All that is served.
  static std::vector<RouteInfo> route_infos();

 private:
  using Exchange = std::shared_ptr<HttpExchange>;
  using Values = std::vector<std::string>;  // of the names in a route's path
  using Handler = void (Api::*)(const Exchange& exchange, const Values& values);
  struct Route {
    RouteInfo info;
    Handler handler;
  };
  static const std::vector<Route>& routes();
  static std::vector<Route> server_routes();
  static std::vector<Route> run_routes();
  static std::vector<Route> adapter_routes();
  static std::vector<Route> openai_routes();
  static std::vector<Route> video_routes();
  static std::vector<Route> webui_routes();
  struct Accepted {
    JobView job;
    bool async = false;
  };
  class Stream;

  std::optional<HttpResponse> refuse_origin(const HttpRequest& request) const;
  std::optional<HttpResponse> refuse_key(const HttpRequest& request);
  void add_cors(const HttpRequest& request, HttpResponse& response) const;
  HttpResponse in_form(const HttpRequest& request, HttpResponse response) const;
  const ApiKey* key_of(const HttpRequest& request) const;
  void respond(const Exchange& exchange, HttpResponse response) const;
  // Of the exception that is being handled.
  HttpResponse problem_now(const std::string& request) const;
  void route(const Exchange& exchange);
  static bool takes(const Route& route, const std::string& method);
  static Access access_of(const HttpRequest& request);
  void refuse_route(const Exchange& exchange) const;

  void health(const Exchange& exchange, const Values&);
  void ready(const Exchange& exchange, const Values&);
  void page(const Exchange& exchange, const Values&);
  void metrics(const Exchange& exchange, const Values&);
  void openapi(const Exchange& exchange, const Values&);
  Json openapi_of_server() const;
  void generate(const Exchange& exchange, const Values&);
  Accepted accept(const HttpRequest& request, ServedRequest served);
  void check_priority(const HttpRequest& request, const ServedRequest& served) const;
  ServedRequest read(const HttpRequest& request) const;
  void receive(ServedRequest& served, const std::string& id);
  GenerateRequest placed(const ServedRequest& served, const std::string& id) const;
  std::vector<Finding> errors_with(const ServedRequest& served, const std::string& id,
                                   const Json& config) const;
  Submission check(const ServedRequest& served, const std::string& id, const HttpRequest& asked);
  bool has_room(uint64_t bytes) const;
  void require_room(const HttpRequest& request) const;
  void drop_guidance(ServedRequest& served, const std::string& id) const;
  void round_sizes(ServedRequest& served, const std::string& id) const;
  void refuse_device(const GenerateRequest& request) const;
  void refuse_errors(const CheckReport& checked) const;
  void check_size(const ConfigValues& config) const;
  Json describe_adapter(const std::filesystem::path& path, const AdapterUpload& upload) const;
  void hold_adapters(const GenerateRequest& request, const std::string& job);
  void refuse_used(const std::string& adapter) const;
  void add_adapter(const Exchange& exchange, const Values&);
  void list_adapters(const Exchange& exchange, const Values&);
  void delete_adapter(const Exchange& exchange, const Values& values);
  // Calls `ended` with the job once it has ended, on a worker; `other` with its other events.
  void wait_for(const Exchange& exchange, const std::string& id,
                std::function<void(const JobView&)> ended, JobEvents::Listener other = {});
  // The client who waited for a job has left.
  void cancel_left(const std::string& id);
  Json with_data(const JobView& view) const { return with_data(view, limits_.inline_bytes); }
  Json with_data(const JobView& view, size_t most_bytes) const;
  bool makes_videos(const std::string& model) const;
  ServedModels video_models() const;
  void settle_seconds(ServedRequest& served, int64_t seconds) const;
  void create_video(const Exchange& exchange, const Values&);
  void list_videos(const Exchange& exchange, const Values&);
  void video(const Exchange& exchange, const Values& values);
  void video_content(const Exchange& exchange, const Values& values);
  void delete_video(const Exchange& exchange, const Values& values);
  Json video_json(const JobView& view) const;
  JobView named_video(const HttpRequest& request, const std::string& id) const;
  void openai_generation(const Exchange& exchange, const Values&);
  void openai_edit(const Exchange& exchange, const Values&);
  void openai(const Exchange& exchange, bool edit);
  void openai_answer(const Exchange& exchange, const std::string& id, const OpenAiRequest& asked);
  void openai_stream(const Exchange& exchange, const std::string& id, const std::string& name,
                     const OpenAiRequest& asked);
  void webui_text2image(const Exchange& exchange, const Values&);
  void webui_image2image(const Exchange& exchange, const Values&);
  void webui(const Exchange& exchange, WebuiRoute route);
  void webui_answer(const Exchange& exchange, const JobView& view, const WebuiRequest& asked);
  void webui_progress(const Exchange& exchange, const Values&);
  void webui_interrupt(const Exchange& exchange, const Values&);
  void webui_options(const Exchange& exchange, const Values&);
  void webui_set_options(const Exchange& exchange, const Values&);
  void webui_image_info(const Exchange& exchange, const Values&);
  void webui_list(const Exchange& exchange, const Values&);
  void webui_refresh(const Exchange& exchange, const Values&);
  std::string webui_model(const HttpRequest& request) const;
  std::optional<JobView> webui_job(const HttpRequest& request) const;
  std::string latest_preview(const std::string& id);
  HttpResponse result_of(const HttpRequest& request, const JobView& view) const;
  void validate(const Exchange& exchange, const Values&);

  Json job_json(const JobView& view, bool with_report) const;
  std::optional<JobView> visible(const HttpRequest& request, const std::string& id) const;
  JobView named(const HttpRequest& request, const std::string& id) const;
  // `limit` in the query: `usual` if omitted, at most `most`.
  static size_t limit_of(const HttpRequest& request, size_t usual, size_t most);
  // "" of a key that sees the jobs of all.
  std::string client_or_all(const HttpRequest& request) const;
  void list(const Exchange& exchange, const Values&);
  void job(const Exchange& exchange, const Values& values);
  void cancel(const Exchange& exchange, const Values& values);
  void job_events(const Exchange& exchange, const Values& values);
  void stream(const Exchange& exchange, const Values&);
  void job_artifact(const Exchange& exchange, const Values& values);
  // One that a job has made, from its file; the job is told without its report.
  HttpResponse artifact(const HttpRequest& request, const Json& job,
                        const std::string& number) const;
  void models(const Exchange& exchange, const Values&);
  void model(const Exchange& exchange, const Values& values);

  Parts parts_;
  ApiLimits limits_;
  WebuiClients webui_clients_;
  std::once_flag described_;
  std::string document_;  // of /openapi.json
};

}  // namespace omnirt::serve
