// The server as a process: how it ends, is killed, and begins again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "cli/program.hpp"
#include "serve/http_client.hpp"

namespace omnirt::testing {
namespace {
using ::testing::HasSubstr;

// Runs a server over `state`; once it listens `then` is called with a way to ask it, and its
// process id.
Ended serve_over(const Scratch& state, const std::function<void(uint16_t port, int child)>& then) {
  bool called = false;
  return run_program_with(
      {"serve", "--port", "0", "-m", "emoji", "--state", state.file("state"), "--drain-seconds",
       "0"},
      {.watch = [&](int child, const std::string& err) {
        const std::string words = "listening on http://127.0.0.1:";
        const size_t at = err.find(words);
        if (called || at == std::string::npos || err.find('\n', at) == std::string::npos) return;
        called = true;
        then(static_cast<uint16_t>(std::stoi(err.substr(at + words.size()))), child);
      }});
}

Json ask(uint16_t port, const std::string& path) {
  return serve::HttpClient(port).get(path).json();
}

std::string submit(uint16_t port, int64_t steps) {
  const Json request = {{"inputs", {{"prompt", "a red apple"}}},
                        {"config", {{"num_inference_steps", steps}}},
                        {"async", true}};
  return serve::HttpClient(port).post("/v1/generate", request.dump()).json()["id"];
}

void wait_until_it_steps(uint16_t port, const std::string& id) {
  serve::HttpClient client(port);
  client.send("GET /v1/jobs/" + id + "/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  client.read_until(R"("stage":"denoise_loop","step":1,)");
}

TEST(Serve, ALoadIsMeasuredOverIt) {
  Scratch state;
  const std::string trace = state.write(
      "trace.jsonl", "{\"at_ms\": 5, \"kind\": \"a\"}\n{\"at_ms\": 0, \"kind\": \"b\"}\n");
  Json mixed, traced;
  Ended text;
  const Ended served = serve_over(state, [&](uint16_t port, int child) {
    const std::string url = "http://127.0.0.1:" + std::to_string(port);
    auto bench = [&](std::vector<std::string> more) {
      std::vector<std::string> words{"bench",   "--serve", url,        "-p", "a red apple",
                                     "--steps", "1",       "--warmup", "0"};
      words.insert(words.end(), more.begin(), more.end());
      return run_program(words);
    };
    mixed = parse_json(bench({"--mix", "1:1,1:2", "--rate", "50", "--total", "6", "--json"}).out,
                       "the result");
    traced = parse_json(bench({"--trace", trace, "--json"}).out, "the result");
    text = bench({"--load", "0.5", "--total", "2", "--slo", "1000"});
    kill(child, SIGTERM);
  });
  EXPECT_EQ(served.exit_code, 0) << served.err;
  EXPECT_EQ(mixed["requests"], 6);
  EXPECT_EQ(mixed["statuses"], Json({{"200", 6}}));
  EXPECT_EQ(mixed["kinds"][1]["name"], "2 steps");
  EXPECT_EQ(mixed["rate"], 50.0);
  EXPECT_EQ(mixed["healthz"]["failed"], 0);
  EXPECT_EQ(traced["requests"], 2);
  EXPECT_EQ(traced["kinds"].size(), 2u);
  EXPECT_FALSE(traced.contains("rate"));
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("SLO attainment           100.0% of all"));
}

TEST(Serve, TheFirstSignalHandsTheJobsBackAndTheNextServerTakesThemUp) {
  Scratch state;
  std::string id;
  Ended ended = serve_over(state, [&](uint16_t port, int child) {
    id = submit(port, 1000);
    wait_until_it_steps(port, id);
    kill(child, SIGTERM);
  });
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("draining"));
  Json job;
  ended = serve_over(state, [&](uint16_t port, int child) {
    wait_until_it_steps(port, id);
    job = ask(port, "/v1/jobs/" + id);
    kill(child, SIGINT);
  });
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(job["state"], "running");
  EXPECT_EQ(job["crashes"], 0);
  EXPECT_EQ(job["attempts"], 2);
}

TEST(Serve, AJobDuringWhichTheServerWasKilledThreeTimesIsDead) {
  Scratch state;
  std::string id;
  for (int killed = 0; killed < 3; ++killed) {
    Ended ended = serve_over(state, [&](uint16_t port, int child) {
      if (id.empty()) id = submit(port, 1000);
      wait_until_it_steps(port, id);
      kill(child, SIGKILL);
    });
    EXPECT_EQ(ended.exit_code, 128 + SIGKILL) << ended.err;
  }
  Json job;
  std::string next;
  Ended ended = serve_over(state, [&](uint16_t port, int child) {
    job = ask(port, "/v1/jobs/" + id);
    next = serve::HttpClient(port)
               .post("/v1/generate", R"({"inputs": {"prompt": "a red apple"}})")
               .json()["state"];
    kill(child, SIGTERM);
  });
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(job["state"], "dead");
  EXPECT_EQ(job["crashes"], 3);
  EXPECT_EQ(next, "done");
}

TEST(Serve, WhatCannotBeIsRefusedAtTheStart) {
  EXPECT_EQ(run_program({"serve", "--host", "0.0.0.0", "--port", "0"}).exit_code, 2);
  EXPECT_EQ(run_program({"serve", "--port", "0", "-m", "nothing-of-this-name"}).exit_code, 2);
  EXPECT_EQ(run_program({"serve", "--port", "70000"}).exit_code, 2);
  EXPECT_EQ(run_program({"serve", "--max-body", "much"}).exit_code, 2);
  EXPECT_EQ(run_program({"serve", "--api-key-file", "/nothing/here"}).exit_code, 2);
}

}  // namespace
}  // namespace omnirt::testing
