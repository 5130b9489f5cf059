#pragma once
#include <functional>
#include <optional>
#include <string>

#include "serve/api_keys.hpp"
#include "serve/http.hpp"
#include "serve/metrics.hpp"

namespace omnirt::serve {

// A worker's /healthz, /readyz and /metrics. Where there are keys, /metrics needs one with the
// scope metrics; without keys a request must name this machine as its Host, so that no page of
// another name can read the answers (DNS rebinding).
class WorkerHttp {
 public:
  struct Condition {
    bool leaving = false;
    bool reachable = false;  // its broker
    bool runs = false;
  };
  // Throws as HttpServer; InvalidRequest for an address that other machines reach, without keys.
  WorkerHttp(const std::string& host, uint16_t port, const std::string& key_file, Metrics& metrics,
             std::function<Condition()> condition);
  uint16_t port() const { return server_.port(); }
  void start() { server_.start(); }
  void stop() { server_.stop(); }

 private:
  HttpProgram program();
  std::optional<HttpResponse> admit(const HttpRequest& request) const;
  void answer(const std::shared_ptr<HttpExchange>& exchange) const;

  ApiKeys keys_;
  Metrics& metrics_;
  std::function<Condition()> condition_;
  HttpServer server_;
};

}  // namespace omnirt::serve
