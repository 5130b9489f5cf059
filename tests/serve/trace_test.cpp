// Traces: what a collector is sent of requests and jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "base/error.hpp"
#include "serve/broker/worker.hpp"
#include "serve/metrics.hpp"
#include "serve/problem.hpp"
#include "serve/redis_server.hpp"
#include "serve/running_server.hpp"
#include "serve/trace_exporter.hpp"

namespace omnirt::serve {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr const char* trace = "0af7651916cd43dd8448eb211c80319c";
constexpr const char* caller = "b7ad6b7169203331";

// Takes what it is sent, as a collector does.
class Collector {
 public:
  explicit Collector(int status = 200) : status_(status) {
    server_ = std::make_unique<HttpServer>("127.0.0.1", 0, HttpLimits{}, program());
    server_->start();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  std::vector<Json> spans() {
    std::scoped_lock lock(mutex_);
    return spans_;
  }

 private:
  HttpProgram program() {
    return {.admit = [](const HttpRequest&) { return std::nullopt; },
            .handle = [this](const std::shared_ptr<HttpExchange>& each) { take(*each); },
            .log = [](const HttpRequest&, int, size_t, double) {},
            .refuse = [](const HttpRequest&, int status,
                         const std::string&) { return HttpResponse{.status = status}; }};
  }
  void take(HttpExchange& exchange) {
    const HttpRequest& request = exchange.request();
    EXPECT_EQ(request.path, "/v1/traces");
    EXPECT_EQ(request.header("content-type"), "application/json");
    const Json sent = parse_json(request.body, "the spans");
    const Json& resource = sent["resourceSpans"][0];
    EXPECT_EQ(resource["resource"]["attributes"][0]["value"]["stringValue"], "omnirt");
    std::scoped_lock lock(mutex_);
    for (const Json& span : resource["scopeSpans"][0]["spans"]) spans_.push_back(span);
    exchange.respond({.status = status_, .body = "{}"});
  }

  int status_;
  std::mutex mutex_;
  std::vector<Json> spans_;
  std::unique_ptr<HttpServer> server_;
};

// A job over HTTP, from who has a trace already.
void run_job(const std::string& endpoint, const std::string& flags) {
  ServerOptions options;
  options.otlp_endpoint = endpoint;
  Running running(options);
  const auto answer =
      running.client().post("/v1/generate", apple().dump(),
                            "Content-Type: application/json\r\ntraceparent: 00-" +
                                std::string(trace) + "-" + caller + "-" + flags + "\r\n");
  EXPECT_EQ(answer.status, 200);
}

int64_t ns(const Json& span, const char* name) {
  return std::stoll(span[name].get<std::string>());
}

TEST(Trace, ARequestItsJobStagesAndStepsAreSpansOfTheCallersTrace) {
  Collector collector;
  run_job(collector.url(), "01");
  std::map<std::string, Json> by_name;
  std::vector<std::string> names;
  std::vector<Json> steps;
  for (const Json& span : collector.spans()) {
    EXPECT_EQ(span["traceId"], trace);
    names.push_back(span["name"]);
    if (span["name"] == "step") steps.push_back(span);
    by_name[names.back()] = span;
  }
  EXPECT_THAT(names, IsSupersetOf({"POST /v1/generate", "job", "queue", "prepare_conditions",
                                   "prepare_latents", "denoise_loop", "decode", "export"}));
  ASSERT_EQ(steps.size(), 2u);
  const Json &request = by_name["POST /v1/generate"], &job = by_name["job"];
  EXPECT_EQ(request["parentSpanId"], caller);
  EXPECT_EQ(request["kind"], 2);
  EXPECT_EQ(job["parentSpanId"], request["spanId"]);
  for (const char* name : {"queue", "prepare_conditions", "denoise_loop", "decode", "export"}) {
    EXPECT_EQ(by_name[name]["parentSpanId"], job["spanId"]) << name;
    EXPECT_LE(ns(by_name[name], "startTimeUnixNano"), ns(by_name[name], "endTimeUnixNano")) << name;
  }
  for (const Json& step : steps) EXPECT_EQ(step["parentSpanId"], by_name["denoise_loop"]["spanId"]);
  EXPECT_LE(ns(steps[0], "endTimeUnixNano"), ns(steps[1], "startTimeUnixNano"));
}

TEST(Trace, WhoWantsNoSpansGetsNone) {
  Collector collector;
  run_job(collector.url(), "00");
  EXPECT_TRUE(collector.spans().empty());
}

std::string attribute(const Json& span, const std::string& name) {
  for (const Json& each : span["attributes"]) {
    if (each["key"] == name) return each["value"]["stringValue"];
  }
  return "";
}

// Of a run that one worker begins and another goes on with.
TEST(Trace, WhatWorkersRunIsInTheTraceOfTheRequest) {
  if (!RedisServer::installed()) GTEST_SKIP() << RedisServer::missing;
  RedisServer redis;
  Collector collector;
  {
    ServerOptions options;
    options.redis = redis.url();
    Running server(options);
    WorkerOptions first;
    first.redis = redis.url();
    first.models = quiet().models;
    first.otlp_endpoint = collector.url();
    first.lease_ms = options.lease_ms = 60'000;
    WorkerOptions second = first;
    first.parts = {WorkPart::encode};
    second.parts = {WorkPart::denoise, WorkPart::decode};
    Worker encodes(test_session(), first), makes(test_session(), second);
    encodes.start();
    makes.start();
    const auto answer = server.client().post("/v1/generate", apple().dump(),
                                             "Content-Type: application/json\r\ntraceparent: 00-" +
                                                 std::string(trace) + "-" + caller + "-01\r\n");
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
  std::map<std::string, Json> jobs;
  std::vector<std::string> names;
  for (const Json& span : collector.spans()) {
    EXPECT_EQ(span["traceId"], trace);
    names.push_back(span["name"]);
    if (span["name"] == "job") jobs[attribute(span, "omnirt.job.part")] = span;
  }
  EXPECT_THAT(names,
              IsSupersetOf({"queue", "prepare_conditions", "denoise_loop", "step", "decode"}));
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_NE(attribute(jobs["encode"], "omnirt.worker.id"), "");
  EXPECT_NE(attribute(jobs["encode"], "omnirt.worker.id"),
            attribute(jobs["denoise"], "omnirt.worker.id"));
  EXPECT_EQ(jobs["encode"]["parentSpanId"], jobs["denoise"]["parentSpanId"]);
}

TEST(Trace, MetricsCountWhatWasDropped) {
  Metrics metrics;
  EXPECT_THAT(metrics.text({}), Not(HasSubstr("omnirt_trace_spans")));
  metrics.traces = [] { return TraceExporter::Counts{.sent = 3, .dropped = 5}; };
  EXPECT_THAT(metrics.text({}), AllOf(HasSubstr("omnirt_trace_spans_sent 3"),
                                      HasSubstr("omnirt_trace_spans_dropped 5")));
}

TEST(Trace, ACollectorThatIsGoneOrRefusesHoldsNothingUp) {
  uint16_t port = 0;
  {
    Collector gone;
    port = static_cast<uint16_t>(std::stoi(gone.url().substr(gone.url().rfind(':') + 1)));
  }
  run_job("http://127.0.0.1:" + std::to_string(port), "01");
  Collector refuses(503);
  TraceExporter exporter(refuses.url());
  for (size_t i = 0; i < 2 * TraceExporter::most_kept; ++i)
    exporter.add({.within = new_trace(), .id = new_span_id(), .name = "x"});
  EXPECT_GT(exporter.counts().dropped, 0u);
}

TEST(Trace, AnEndpointIsAnAddress) {
  EXPECT_EQ(TraceExporter("http://localhost:4318").url(), "http://localhost:4318/v1/traces");
  EXPECT_EQ(TraceExporter("http://localhost:4318/").url(), "http://localhost:4318/v1/traces");
  EXPECT_EQ(TraceExporter("https://x.example/otlp/v1/traces").url(),
            "https://x.example/otlp/v1/traces");
  for (const char* bad : {"localhost:4318", "ftp://x", "http://", "http:///v1", "http://x\r\ny"})
    EXPECT_THROW(TraceExporter{bad}, InvalidRequest) << bad;
}

TEST(Trace, AHeaderIsReadAsTheStandardHasIt) {
  const std::string good = "00-" + std::string(trace) + "-" + caller + "-01";
  const auto read = read_traceparent(good);
  ASSERT_TRUE(read);
  EXPECT_EQ(traceparent_of(*read), good);
  EXPECT_FALSE(read_traceparent("00-" + std::string(trace) + "-" + caller + "-02")->sampled);
  EXPECT_TRUE(read_traceparent("01" + good.substr(2) + "-more"));
  for (const std::string& bad :
       {std::string(), good + "-more", "ff" + good.substr(2), good.substr(1),
        "00-" + std::string(32, '0') + "-" + caller + "-01",
        "00-" + std::string(trace) + "-" + std::string(16, '0') + "-01",
        "00-" + std::string(32, 'A') + "-" + caller + "-01"})
    EXPECT_FALSE(read_traceparent(bad)) << bad;
}

}  // namespace
}  // namespace omnirt::serve
