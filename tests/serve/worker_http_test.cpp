// What a worker answers over HTTP: its state, and to whom.
#include "serve/broker/worker_http.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "serve/http_client.hpp"

namespace omnirt::serve {
namespace {

using ::testing::HasSubstr;

class WorkerAnswers : public ::testing::Test {
 protected:
  WorkerAnswers() { server.start(); }
  ~WorkerAnswers() override { server.stop(); }
  HttpClient::Answer get(const std::string& path, const std::string& host) const {
    HttpClient client(server.port());
    client.send("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    return client.read();
  }

  Metrics metrics;
  WorkerHttp::Condition condition{.reachable = true};
  WorkerHttp server{"127.0.0.1", 0, "", metrics, [this] { return condition; }};
};

TEST_F(WorkerAnswers, SaysWhetherItTakesJobs) {
  EXPECT_EQ(get("/healthz", "localhost").status, 200);
  EXPECT_EQ(get("/readyz", "127.0.0.1:9000").status, 200);
  condition.reachable = false;
  EXPECT_EQ(get("/readyz", "[::1]:9000").status, 503);
  EXPECT_THAT(get("/readyz", "localhost").body, HasSubstr("no broker"));
  EXPECT_EQ(get("/healthz", "localhost").status, 200);
  EXPECT_EQ(get("/metrics", "localhost").status, 200);
}

TEST_F(WorkerAnswers, AnswersOnlyAsThisMachineWithoutKeys) {
  for (const char* host :
       {"example.org", "127.evil.example", "localhost.evil.example:80", "10.0.0.1"})
    for (const char* path : {"/healthz", "/readyz", "/metrics"})
      EXPECT_EQ(get(path, host).status, 421) << host << path;
}

TEST_F(WorkerAnswers, IsNotOpenToOtherMachinesWithoutKeys) {
  EXPECT_THROW(WorkerHttp("0.0.0.0", 0, "", metrics, [] { return WorkerHttp::Condition{}; }),
               InvalidRequest);
}

}  // namespace
}  // namespace omnirt::serve
