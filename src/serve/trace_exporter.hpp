#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/trace.hpp"

namespace omnirt::serve {

// Sends spans to a collector by OTLP over HTTP, as JSON, from a thread of its own: in batches, each
// tried once. Spans beyond what is kept for a collector that is slow or gone are dropped, and
// counted. Safe to use from several threads.
class TraceExporter {
 public:
  static constexpr size_t most_kept = 8192;
  static constexpr size_t most_sent = 512;  // in one request

  // "http://localhost:4318": "/v1/traces" is added where the address has no path. Throws
  // InvalidRequest where it is no such address, Unsupported where libcurl is missing.
  explicit TraceExporter(const std::string& endpoint);
  // Sends what is kept, as long as the collector answers.
  ~TraceExporter();
  TraceExporter(const TraceExporter&) = delete;
  TraceExporter& operator=(const TraceExporter&) = delete;

  void add(Span span);
  const std::string& url() const { return url_; }
  struct Counts {
    size_t sent = 0, dropped = 0;
  };
  Counts counts() const;

 private:
  void work();
  void send(const std::vector<Span>& spans);
  std::string try_send(const std::vector<Span>& spans) const;

  std::string url_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Span> kept_;
  Counts counts_;
  bool stopping_ = false;
  double told_ms_ = 0;  // when a failure was last written to the log
  std::thread thread_;
};

// Nothing of an address "".
std::unique_ptr<TraceExporter> open_traces(const std::string& endpoint);

}  // namespace omnirt::serve
