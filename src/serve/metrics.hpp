#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/report.hpp"
#include "serve/job.hpp"
#include "serve/trace_exporter.hpp"

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
  // Of a process whose jobs are at a broker.
  struct AtBroker {
    bool reachable = false;
    int64_t connections = 0, claims = 0, dead_letters = 0, void_results = 0, heartbeats = 0;
    int64_t kept_dead_letters = -1;           // -1: not known here
    std::map<std::string, size_t> workers{};  // by part
  };
  // Asked for at each text, where there is one.
  std::function<AtBroker()> broker;
  // Of a process that sends spans.
  std::function<TraceExporter::Counts()> traces;
  struct Now {
    size_t waiting = 0, running = 0, connections = 0;
  };
  std::string text(const Now& now);

 private:
  void set(const char* name, const char* help, double value);
  void add(const AtBroker& now);
  void add(const TraceExporter::Counts& now);
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace omnirt::serve
