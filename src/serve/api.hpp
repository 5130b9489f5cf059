#pragma once
#include <atomic>
#include <memory>
#include <set>
#include <string>

#include "serve/api_keys.hpp"
#include "serve/dispatcher.hpp"
#include "serve/http.hpp"
#include "serve/metrics.hpp"
#include "serve/run_job.hpp"
#include "serve/served_request.hpp"

namespace omnirt::serve {

struct ApiLimits {
  int64_t max_pixels = int64_t{4} << 20;   // of one image, width x height
  int64_t max_images = 16;                 // of one request
  size_t inline_bytes = size_t{64} << 20;  // of artifacts within an answer
  std::string memory_budget;               // of a run, as memory_budget has it; "": none
  std::set<std::string> origins;           // whose pages may ask (CORS)
  bool local_only = true;                  // no keys: only names of this machine as Host
};

// The routes of the server, on top of a session, its jobs and their files.
class Api {
 public:
  struct Parts {
    Session& session;
    Dispatcher& jobs;
    JobFiles& files;
    ApiKeys& keys;
    Metrics& metrics;
    const QueueClock& clock;
    const ServedModels& models;
    const PathHider& hider;
  };
  Api(const Parts& parts, const ApiLimits& limits) : parts_(parts), limits_(limits) {}

  // Has some thread do it soon; set before the first request.
  std::function<void(std::function<void()>)> later;
  std::function<size_t()> connections = [] { return size_t{0}; };

  // By the headers alone: who asks, from where, how often.
  std::optional<HttpResponse> admit(const HttpRequest& request);
  void handle(const std::shared_ptr<HttpExchange>& exchange);
  // The key's name, or "anonymous"; "" of a key that is not known.
  std::string client_of(const HttpRequest& request) const;
  // The route of a request, for logs and metrics: "/v1/jobs/{id}"; "other" of what is none.
  static std::string route_of(const std::string& path);

 private:
  using Exchange = std::shared_ptr<HttpExchange>;
  struct Accepted {
    JobView job;
    bool async = false;
  };

  std::optional<HttpResponse> refuse_origin(const HttpRequest& request) const;
  std::optional<HttpResponse> refuse_key(const HttpRequest& request);
  void add_cors(const HttpRequest& request, HttpResponse& response) const;
  const ApiKey* key_of(const HttpRequest& request) const;
  void respond(const Exchange& exchange, HttpResponse response) const;
  void route(const Exchange& exchange);
  void route_job(const Exchange& exchange, const std::string& rest);

  void generate(const Exchange& exchange);
  Accepted accept(const HttpRequest& request, const ServedRequest& served);
  void check_priority(const HttpRequest& request, const ServedRequest& served) const;
  ServedRequest read(const HttpRequest& request) const;
  GenerateRequest place(const ServedRequest& served, const std::string& id);
  Submission check(const ServedRequest& served, const GenerateRequest& request);
  void check_size(const Json& config) const;
  // Calls `ended` with the job once it has ended, on a worker; `other` with its other events.
  void wait_for(const Exchange& exchange, const std::string& id,
                std::function<void(const JobView&)> ended, JobEvents::Listener other = {});
  Json with_data(const JobView& view) const;
  void openai(const Exchange& exchange, bool edit);
  void openai_answer(const Exchange& exchange, const std::string& id);
  void openai_stream(const Exchange& exchange, const std::string& id, const std::string& name,
                     int64_t partial_images);
  HttpResponse result_of(const HttpRequest& request, const JobView& view) const;
  void validate(const Exchange& exchange);

  Json job_json(const JobView& view, bool with_report) const;
  std::optional<JobView> visible(const HttpRequest& request, const std::string& id) const;
  void list(const Exchange& exchange) const;
  void events(const Exchange& exchange, const JobView& view);
  HttpResponse artifact(const HttpRequest& request, const JobView& view,
                        const std::string& number) const;
  Json models() const;
  void model(const Exchange& exchange, const std::string& id) const;
  HttpResponse metrics();

  Parts parts_;
  ApiLimits limits_;
};

}  // namespace omnirt::serve
