#pragma once
#include <memory>
#include <string>

#include "base/report.hpp"
#include "serve/job.hpp"

namespace omnirt::serve {

// What /metrics shows, in Prometheus' text form (docs/server.md lists the names). Safe to use from
// several threads.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  // A job's state has changed.
  void count(const Job& job);
  // A run is over, well or not.
  void count(const RunReport& report);
  // `route` is one of this program's, not what the client wrote.
  void count_request(const std::string& route, int status, double ms);
  struct Now {
    size_t waiting = 0, running = 0, connections = 0;
  };
  std::string text(const Now& now);

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace omnirt::serve
