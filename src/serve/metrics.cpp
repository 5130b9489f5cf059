#include "serve/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <initializer_list>

namespace omnirt::serve {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;

const Buckets& seconds() {
  static const Buckets buckets{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000};
  return buckets;
}

}  // namespace

struct Metrics::Families {
  using Counters = prometheus::Family<prometheus::Counter>;
  using Gauges = prometheus::Family<prometheus::Gauge>;
  using Histograms = prometheus::Family<prometheus::Histogram>;
  Counters& counters(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  Gauges& gauges(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }
  Histograms& histograms(const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
  }
  prometheus::Registry registry;
  Counters& jobs = counters("omnirt_jobs_total", "jobs by the state that they came to");
  Counters& cache_hits = counters("omnirt_cache_hits_total",
                                  "calls of text encoders whose results an earlier run had made");
  Counters& requests = counters("omnirt_http_requests_total", "HTTP requests");
  Counters& fallbacks = counters("omnirt_fallbacks_total",
                                 "calls that another level or kernel computed than should have");
  Histograms& stages = histograms("omnirt_stage_duration_seconds", "time of a run's stages");
  Histograms& steps = histograms("omnirt_step_duration_seconds", "time of a denoising step");
  Histograms& waits =
      histograms("omnirt_queue_wait_seconds", "time from a job's acceptance to its first start");
  Histograms& http =
      histograms("omnirt_http_request_duration_seconds",
                 "time of HTTP requests, of events and synchronous runs to their end");
  Gauges& depth = gauges("omnirt_queue_depth", "jobs that wait");
  Gauges& running = gauges("omnirt_jobs_running", "jobs that have begun");
  Gauges& connections = gauges("omnirt_http_connections", "open connections");
  Gauges& vram = gauges("omnirt_vram_peak_bytes",
                        "the most that the tensors of a run took on a device other than the cpu, "
                        "of the last run there");
  Gauges& tensors =
      gauges("omnirt_tensor_peak_bytes",
             "the most that the tensors of a run took, of the last run on the device");
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {
  for (JobState state :
       {JobState::done, JobState::failed, JobState::cancelled, JobState::expired, JobState::dead})
    families_->jobs.Add({{"state", name_of(state)}});
  families_->cache_hits.Add({});
}
Metrics::~Metrics() = default;

void Metrics::count(const Job& job) {
  if (has_ended(job.state)) families_->jobs.Add({{"state", name_of(job.state)}}).Increment();
  if (job.state == JobState::running && job.attempts == 1 && !job.cancelling) {
    const auto waited = static_cast<double>(job.started_ms - job.created_ms);
    families_->waits.Add({}, seconds()).Observe(std::max(waited, 0.0) / 1000);
  }
}

void Metrics::count(const RunReport& report) {
  const StageTimings& timings = report.timings;
  const std::initializer_list<std::pair<const char*, double>> stages{
      {"prepare_conditions", timings.prepare_conditions_ms},
      {"prepare_latents", timings.prepare_latents_ms},
      {"denoise_loop", timings.denoise_loop_ms},
      {"decode", timings.decode_ms},
      {"export", timings.export_ms}};
  for (const auto& [stage, ms] : stages)
    families_->stages.Add({{"stage", stage}}, seconds()).Observe(ms / 1000);
  for (double ms : report.denoise_steps_ms) families_->steps.Add({}, seconds()).Observe(ms / 1000);
  families_->cache_hits.Add({}).Increment(static_cast<double>(report.remembered_calls));
  for (const FallbackReport& each : report.fallbacks)
    families_->fallbacks.Add({{"kind", each.kind}}).Increment(static_cast<double>(each.count));
  for (const DeviceMemoryReport& each : report.memory.devices) {
    if (!each.tensor_peak_bytes) continue;
    const auto peak = static_cast<double>(*each.tensor_peak_bytes);
    families_->tensors.Add({{"device", each.device}}).Set(peak);
    if (each.device != "cpu:0") families_->vram.Add({{"device", each.device}}).Set(peak);
  }
}

void Metrics::count_request(const std::string& route, int status, double ms) {
  families_->requests.Add({{"route", route}, {"status", std::to_string(status)}}).Increment();
  families_->http.Add({{"route", route}}, seconds()).Observe(ms / 1000);
}

// What is counted elsewhere is a gauge to the registry; by their names they are counters.
void Metrics::set(const char* name, const char* help, double value) {
  families_->gauges(name, help).Add({}).Set(value);
}

void Metrics::add(const TraceExporter::Counts& now) {
  set("omnirt_trace_spans_sent", "spans that the collector took", static_cast<double>(now.sent));
  set("omnirt_trace_spans_dropped", "spans that it did not take, or that there was no room for",
      static_cast<double>(now.dropped));
}

void Metrics::add(const AtBroker& now) {
  set("omnirt_broker_up", "whether Redis answers", now.reachable ? 1 : 0);
  set("omnirt_broker_connections", "connections to Redis that were made",
      static_cast<double>(now.connections));
  set("omnirt_broker_claims", "jobs taken over from processes that were gone",
      static_cast<double>(now.claims));
  set("omnirt_broker_dead_letters", "jobs and entries given up here",
      static_cast<double>(now.dead_letters));
  set("omnirt_broker_void_results", "results of runs whose lease was lost",
      static_cast<double>(now.void_results));
  set("omnirt_broker_heartbeats", "times that this process said that it lives",
      static_cast<double>(now.heartbeats));
  if (now.kept_dead_letters >= 0)
    set("omnirt_dead_letters", "dead letters at the broker",
        static_cast<double>(now.kept_dead_letters));
  for (const auto& [part, count] : now.workers) {
    families_->gauges("omnirt_workers", "workers that live, by the part of runs that they take")
        .Add({{"part", part}})
        .Set(static_cast<double>(count));
  }
}

std::string Metrics::text(const Now& now) {
  families_->depth.Add({}).Set(static_cast<double>(now.waiting));
  families_->running.Add({}).Set(static_cast<double>(now.running));
  families_->connections.Add({}).Set(static_cast<double>(now.connections));
  if (broker) add(broker());
  if (traces) add(traces());
  return prometheus::TextSerializer().Serialize(families_->registry.Collect());
}

}  // namespace omnirt::serve
