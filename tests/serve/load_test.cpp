// Load on a server: its plan and its figures without a clock, and requests that are really sent.
#include "serve/load.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "serve/http_load.hpp"
#include "serve/running_server.hpp"

namespace omnirt::serve {
namespace {
using ::testing::DoubleNear;
using ::testing::HasSubstr;

std::vector<LoadKind> mix() {
  return read_mix("50:4,40:20:128x96,10:50", {{"config", {{"seed", 3}}}});
}

TEST(Load, AMixIsReadWithItsStepsAndSizes) {
  const auto kinds = mix();
  ASSERT_EQ(kinds.size(), 3u);
  EXPECT_EQ(kinds[1].name, "20 steps 128x96");
  EXPECT_EQ(kinds[1].weight, 40);
  EXPECT_EQ(kinds[1].request["config"],
            Json({{"seed", 3}, {"num_inference_steps", 20}, {"width", 128}, {"height", 96}}));
  EXPECT_EQ(kinds[2].request["config"]["num_inference_steps"], 50);
  for (const char* bad : {"", "50", "50:", "x:4", "0:4", "-1:4", "50:4:", "50:4:128", "50:4:ax3",
                          "50:0", "50:1e9", "50:4,,10:5", "nan:4"}) {
    EXPECT_THROW(read_mix(bad, Json::object()), InvalidRequest) << bad;
  }
}

TEST(Load, ArrivalsFollowFromTheirSeed) {
  const auto kinds = mix();
  const auto arrivals = poisson_arrivals(kinds, 2, 10'000, 1e9, 7);
  const auto again = poisson_arrivals(kinds, 2, 10'000, 1e9, 7);
  const auto other = poisson_arrivals(kinds, 2, 10'000, 1e9, 8);
  ASSERT_EQ(arrivals.size(), 10'000u);
  double before = 0, gaps = 0, squares = 0;
  std::vector<double> shares(3);
  for (size_t i = 0; i < arrivals.size(); ++i) {
    EXPECT_EQ(arrivals[i].at_ms, again[i].at_ms);
    EXPECT_EQ(arrivals[i].kind, again[i].kind);
    const double gap = arrivals[i].at_ms - before;
    before = arrivals[i].at_ms;
    gaps += gap / 10'000;
    squares += gap * gap / 10'000;
    shares[arrivals[i].kind] += 1e-4;
  }
  EXPECT_NE(arrivals[0].at_ms, other[0].at_ms);
  // Of an exponential distribution the deviation is the mean: 3 times what 10,000 draws vary by.
  EXPECT_THAT(gaps, DoubleNear(500, 15));
  EXPECT_THAT(std::sqrt(squares - gaps * gaps), DoubleNear(500, 22));
  EXPECT_THAT(shares[0], DoubleNear(0.5, 0.015));
  EXPECT_THAT(shares[1], DoubleNear(0.4, 0.015));
  EXPECT_THAT(shares[2], DoubleNear(0.1, 0.009));
  for (const auto& each : poisson_arrivals(kinds, 2, 10'000, 30, 7)) EXPECT_LE(each.at_ms, 30'000);
}

TEST(Load, ARateIsAShareOfWhatOneRunAtATimeDoes) {
  auto kinds = mix();
  kinds[0].own_ms = 100;
  kinds[1].own_ms = 300;
  kinds[2].own_ms = 800;
  EXPECT_DOUBLE_EQ(rate_of_load(kinds, 1), 1000.0 / 250);
  EXPECT_DOUBLE_EQ(rate_of_load(kinds, 0.5), 2);
}

TEST(Load, ATraceIsReadByLine) {
  const Json base = {{"inputs", {{"prompt", "x"}}}};
  const LoadTrace trace = read_trace(
      "{\"at_ms\": 50, \"kind\": \"short\", \"request\": {\"config\": {\"seed\": 1}}}\n\n"
      "{\"at_ms\": 20.5}\r\n{\"at_ms\": 70, \"kind\": \"short\", \"request\": {\"config\": "
      "{\"seed\": 1}}}",
      "trace", base);
  ASSERT_EQ(trace.arrivals.size(), 3u);
  EXPECT_EQ(trace.arrivals[0].at_ms, 20.5);
  EXPECT_EQ(trace.kinds[trace.arrivals[0].kind].request, base);
  EXPECT_EQ(trace.kinds[trace.arrivals[1].kind].name, "short");
  EXPECT_EQ(trace.kinds[trace.arrivals[1].kind].request["config"]["seed"], 1);
  EXPECT_EQ(trace.arrivals[1].kind, trace.arrivals[2].kind);
}

TEST(Load, ATraceThatIsNoneIsRefusedByItsLine) {
  auto refusal = [](const std::string& text) -> std::string {
    try {
      read_trace(text, "trace", Json::object());
    } catch (const InvalidRequest& error) {
      return error.findings().front().text();
    }
    return "taken";
  };
  EXPECT_THAT(refusal(""), HasSubstr("no request"));
  EXPECT_THAT(refusal("{\"at_ms\": 1}\n{"), HasSubstr("trace:2"));
  EXPECT_THAT(refusal("[]"), HasSubstr("trace:1"));
  EXPECT_THAT(refusal("{}"), HasSubstr("at_ms"));
  EXPECT_THAT(refusal("{\"at_ms\": -1}"), HasSubstr("at_ms"));
  EXPECT_THAT(refusal("{\"at_ms\": 1e300}"), HasSubstr("at_ms"));
  EXPECT_THAT(refusal("{\"at_ms\": 1, \"steps\": 3}"), HasSubstr("steps"));
  EXPECT_THAT(refusal("{\"at_ms\": 1, \"request\": 3}"), HasSubstr("request"));
  EXPECT_THAT(refusal("{\"at_ms\": 1, \"kind\": 3}"), HasSubstr("kind"));
  EXPECT_THAT(refusal("{\"at_ms\": 1}\n{\"at_ms\": 2, \"request\": {\"model\": \"x\"}}"),
              HasSubstr("another than the kind's first"));
}

TEST(Load, AQuantileIsOneOfTheValues) {
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({3, 1, 2}, 0), 1);
  EXPECT_EQ(quantile({3, 1, 2}, 0.99), 3);
  std::vector<double> hundred(100);
  for (size_t i = 0; i < 100; ++i) hundred[i] = static_cast<double>(i + 1);
  EXPECT_EQ(quantile(hundred, 0.99), 99);
  EXPECT_EQ(quantile(hundred, 0.5), 50);
}

TEST(Load, FiguresCountWhatWasInTime) {
  const std::vector<LoadKind> kinds{{.name = "a", .own_ms = 100}, {.name = "b", .own_ms = 10}};
  const std::vector<LoadOutcome> outcomes{{{0, 0}, 300, 200},
                                          {{100, 0}, 301, 200},
                                          {{200, 1}, 30, 200},
                                          {{300, 1}, 5, 503},
                                          {{900, 1}, 100, 0}};
  const Json figures = load_figures(kinds, outcomes, 3);
  EXPECT_EQ(figures["requests"], 5);
  EXPECT_EQ(figures["statuses"], Json({{"200", 3}, {"503", 1}, {"none", 1}}));
  EXPECT_EQ(figures["seconds"], 1.0);
  EXPECT_EQ(figures["per_second"], 3.0);
  EXPECT_DOUBLE_EQ(figures["attainment"].get<double>(), 2.0 / 5);
  EXPECT_DOUBLE_EQ(figures["answered_attainment"].get<double>(), 2.0 / 3);
  EXPECT_EQ(figures["kinds"][0]["p99_ms"], 301.0);
  EXPECT_EQ(figures["kinds"][1]["answered"], 1);
  EXPECT_DOUBLE_EQ(figures["kinds"][1]["attainment"].get<double>(), 1.0 / 3);
}

TEST(Load, AnAddressIsReadOrRefused) {
  const HttpTarget target = read_target("http://localhost:8000/");
  EXPECT_EQ(target.host, "localhost");
  EXPECT_EQ(target.port, "8000");
  EXPECT_EQ(read_target("http://[::1]:80").host, "::1");
  EXPECT_EQ(read_target("http://example").port, "80");
  for (const char* bad :
       {"", "localhost:8000", "https://localhost", "http://", "http://:80", "http://a:x",
        "http://a:", "http://a/b", "http://u@a", "http://[::1", "http://[::1]x", "http://a:123456"})
    EXPECT_THROW(read_target(bad), InvalidRequest) << bad;
}

HttpTarget target_of(const Running& running) {
  return read_target("http://127.0.0.1:" + std::to_string(running.server.port()));
}

TEST(Load, EachRequestIsSentAndAnswered) {
  Running running;
  std::vector<TimedRequest> requests;
  for (int i = 0; i < 4; ++i) requests.push_back({0, "POST", "/v1/generate", apple(i).dump()});
  requests.push_back({1, "GET", "/healthz", ""});
  requests.push_back({2, "POST", "/v1/generate", "{"});
  const auto answers = send_all(target_of(running), requests, {}, CancelToken());
  ASSERT_EQ(answers.size(), 6u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(answers[i].status, 200) << answers[i].body;
  EXPECT_EQ(answers[5].status, 400);
  EXPECT_THAT(answers[5].body, HasSubstr("no-json"));
  EXPECT_EQ(running.get("/v1/jobs").json()["jobs"].size(), 4u);
}

TEST(Load, WhatCannotBeSentIsNoAnswer) {
  uint16_t port = 0;
  {
    Running running;
    port = running.server.port();
  }
  const HttpTarget target{.host = "127.0.0.1", .port = std::to_string(port)};
  const std::vector<TimedRequest> requests{{0, "GET", "/healthz", ""}, {0, "GET", "/healthz", ""}};
  auto answers = send_all(target, requests, {}, CancelToken());
  EXPECT_EQ(answers[0].status, 0);
  EXPECT_FALSE(answers[0].body.empty());
  answers = send_all(target, requests, {.open = 0}, CancelToken());
  EXPECT_THAT(answers[1].body, HasSubstr("not sent"));
}

TEST(Load, ALoadEndsWhenItIsCancelled) {
  Running running;
  CancelToken cancel;
  cancel.cancel();
  const std::vector<TimedRequest> requests{{1e9, "GET", "/healthz", ""}};
  EXPECT_THROW(send_all(target_of(running), requests, {}, cancel), Cancelled);
}

}  // namespace
}  // namespace omnirt::serve
