#include "cli/bench_serve.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "cli/say.hpp"
#include "io/file.hpp"
#include "serve/http_load.hpp"
#include "serve/load.hpp"

namespace omnirt::cli {
namespace {

constexpr int alone_runs = 3;
constexpr double probe_ms = 100;  // between two requests to /healthz
constexpr const char* generate_path = "/v1/generate";
constexpr size_t most_key_bytes = 4096;
constexpr size_t most_trace_bytes = size_t{64} << 20;

std::string read_key(const std::string& file) {
  if (file.empty()) return "";
  std::string key = io::read_file(file, most_key_bytes);
  while (!key.empty() && (key.back() == '\n' || key.back() == '\r')) key.pop_back();
  if (key.empty() || key.find_first_of(" \t\r\n") != std::string::npos)
    throw InvalidFile({file, "", "holds no key", "write the key alone into it"});
  return key;
}

serve::TimedRequest generate(const Json& request, double at_ms = 0) {
  return {.at_ms = at_ms, .method = "POST", .path = generate_path, .body = request.dump()};
}

// Milliseconds of a request that nothing else competes with: the median of a few.
double time_alone(const serve::HttpTarget& target, const serve::LoadKind& kind, int64_t warmup,
                  const CancelToken& cancel) {
  std::vector<double> times;
  for (int64_t i = 0; i < warmup + alone_runs; ++i) {
    const serve::TimedAnswer answer =
        serve::send_all(target, {generate(kind.request)}, {}, cancel).front();
    if (answer.status != 200)
      throw RunFailed(fmt::format("the server does not answer a request of {} alone: {} {}",
                                  kind.name, answer.status, answer.body));
    if (i >= warmup) times.push_back(answer.ms);
  }
  return serve::quantile(times, 0.5);
}

struct Load {
  std::vector<serve::LoadKind> kinds{};
  std::vector<serve::LoadArrival> arrivals{};
  double per_second = 0;  // of arrivals by chance
};

Load load_of(const ServeBenchPlan& plan, const Json& request) {
  if (!plan.trace.empty()) {
    serve::LoadTrace trace =
        serve::read_trace(io::read_file(plan.trace, most_trace_bytes), plan.trace, request);
    return {std::move(trace.kinds), std::move(trace.arrivals)};
  }
  if (!plan.mix.empty()) return {.kinds = serve::read_mix(plan.mix, request)};
  return {.kinds = {{.name = "requests", .request = request}}};
}

void add_arrivals(Load& load, const ServeBenchPlan& plan) {
  if (!plan.trace.empty()) {
    if (plan.total && static_cast<size_t>(*plan.total) < load.arrivals.size())
      load.arrivals.resize(static_cast<size_t>(*plan.total));
    std::erase_if(load.arrivals,
                  [&](const auto& each) { return each.at_ms > plan.seconds * 1000; });
    return;
  }
  load.per_second =
      plan.rate ? *plan.rate : serve::rate_of_load(load.kinds, plan.load.value_or(0.5));
  load.arrivals = serve::poisson_arrivals(load.kinds, load.per_second,
                                          static_cast<size_t>(plan.total.value_or(100)),
                                          plan.seconds, static_cast<uint64_t>(plan.seed));
  if (load.arrivals.empty())
    throw InvalidRequest({"seconds", fmt::format("{}", plan.seconds),
                          "no request arrives in this time",
                          "give more seconds, or a higher rate"});
}

// Requests to /healthz from the first arrival to the last, in their places among the arrivals.
std::vector<serve::TimedRequest> with_probes(const Load& load) {
  std::vector<serve::TimedRequest> all;
  double next_probe = 0;
  for (const serve::LoadArrival& arrival : load.arrivals) {
    for (; next_probe <= arrival.at_ms; next_probe += probe_ms)
      all.push_back({.at_ms = next_probe, .method = "GET", .path = "/healthz", .body = ""});
    all.push_back(generate(load.kinds[arrival.kind].request, arrival.at_ms));
  }
  return all;
}

Json health_figures(const std::vector<double>& times, size_t failed) {
  return {{"requests", times.size() + failed},
          {"failed", failed},
          {"p50_ms", serve::quantile(times, 0.5)},
          {"p99_ms", serve::quantile(times, 0.99)},
          {"max_ms", serve::quantile(times, 1)}};
}

Json run_load(const serve::HttpTarget& target, const Load& load, double slo,
              const CancelToken& cancel) {
  const std::vector<serve::TimedRequest> requests = with_probes(load);
  const std::vector<serve::TimedAnswer> answers = serve::send_all(target, requests, {}, cancel);
  std::vector<serve::LoadOutcome> outcomes;
  std::vector<double> health;
  size_t failed = 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (requests[i].path == generate_path)
      outcomes.push_back({load.arrivals[outcomes.size()], answers[i].ms, answers[i].status});
    else if (answers[i].status == 200)
      health.push_back(answers[i].ms);
    else
      ++failed;
  }
  Json result = serve::load_figures(load.kinds, outcomes, slo);
  result["healthz"] = health_figures(health, failed);
  return result;
}

}  // namespace

Json bench_server(const ServeBenchPlan& plan, const Json& request, const CancelToken& cancel) {
  serve::HttpTarget target = serve::read_target(plan.url);
  target.key = read_key(plan.key_file);
  Load load = load_of(plan, request);
  for (serve::LoadKind& kind : load.kinds)
    kind.own_ms = time_alone(target, kind, plan.warmup, cancel);
  add_arrivals(load, plan);
  Json result = run_load(target, load, plan.slo, cancel);
  result["slo"] = plan.slo;
  if (plan.trace.empty()) {
    result["rate"] = load.per_second;
    result["load"] = load.per_second / serve::rate_of_load(load.kinds, 1);
    result["seed"] = plan.seed;
  }
  return result;
}

void print_serve_bench(const Json& result) {
  if (result.contains("rate"))
    say("{:.3f} requests per second, {:.2f} of what one run at a time can do\n",
        result["rate"].get<double>(), result["load"].get<double>());
  say("{:<24} {:>9} {:>9} {:>9} {:>10} {:>10} {:>10}\n", "kind", "requests", "answered", "in SLO",
      "alone, ms", "p50, ms", "p99, ms");
  for (const Json& kind : result["kinds"])
    say("{:<24} {:>9} {:>9} {:>8.1f}% {:>10.1f} {:>10.1f} {:>10.1f}\n",
        kind["name"].get<std::string>(), kind["requests"].get<size_t>(),
        kind["answered"].get<size_t>(), 100 * kind["attainment"].get<double>(),
        kind["own_ms"].get<double>(), kind["p50_ms"].get<double>(), kind["p99_ms"].get<double>());
  say("{:<24} {:.1f}% of all, {:.1f}% of those answered, within {} times the time alone\n",
      "SLO attainment", 100 * result["attainment"].get<double>(),
      100 * result["answered_attainment"].get<double>(), result["slo"].get<double>());
  say("{:<24} {:.3f} per second over {:.1f} s\n", "throughput", result["per_second"].get<double>(),
      result["seconds"].get<double>());
  std::string statuses;
  for (const auto& [status, count] : result["statuses"].items())
    statuses += fmt::format("{}{}: {}", statuses.empty() ? "" : ", ", status, count.get<size_t>());
  say("{:<24} {}\n", "statuses", statuses);
  const Json& health = result["healthz"];
  say("{:<24} p50 {:.1f} ms, p99 {:.1f} ms, {} of {} failed\n", "/healthz",
      health["p50_ms"].get<double>(), health["p99_ms"].get<double>(),
      health["failed"].get<size_t>(), health["requests"].get<size_t>());
}

}  // namespace omnirt::cli
