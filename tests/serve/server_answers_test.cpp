// Who is answered, with what, and what is left out: hosts, origins, HEAD, artifacts, a full disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "serve/disk_reserve.hpp"
#include "serve/disk_room.hpp"
#include "serve/problem.hpp"
#include "serve/run_job.hpp"
#include "serve/running_server.hpp"
#include "serve/temporary.hpp"

namespace omnirt::serve {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ServerAnswers : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ServerOptions options;
    options.api.origins = {"http://App.Example:80", "https://app.example:8443"};
    running_ = new Running(options);
    job_ = running_->post("/v1/generate", apple()).json()["id"].get<std::string>();
  }
  static void TearDownTestSuite() {
    delete running_;
    running_ = nullptr;
  }
  static int with(const std::string& headers) {
    return running_->get("/v1/models", headers).status;
  }
  static Running* running_;
  static std::string job_;
};
Running* ServerAnswers::running_ = nullptr;
std::string ServerAnswers::job_;

// A name that someone points at this machine is not this machine's.
TEST_F(ServerAnswers, OnlyThisMachinesNamesAreAnsweredWithoutKeys) {
  for (const char* host : {"localhost", "LOCALHOST:8000", "127.0.0.1:1", "127.9.9.9", "[::1]:8000"})
    EXPECT_EQ(with("Host: " + std::string(host) + "\r\n"), 200) << host;
  for (const char* host : {"127.evil.example", "127.0.0.1.evil.example", "127.x", "evil.example",
                           "localhost.evil.example", "0.0.0.0", "127.0.0.1:80@evil", "[::1].evil",
                           "[::2]", "2130706433", "127.1", ""}) {
    EXPECT_EQ(with("Host: " + std::string(host) + "\r\n"), 421) << host;
    EXPECT_EQ(
        running_->get("http://" + std::string(host) + "/v1/models", "Host: localhost\r\n").status,
        421)
        << host;
  }
}

TEST_F(ServerAnswers, PagesOfItsOwnAndOfNamedOriginsMayAsk) {
  for (const char* origin :
       {"http://localhost:81", "https://localhost:81", "HTTP://LOCALHOST:81", "http://app.example",
        "http://app.example:80", "https://app.example:8443"})
    EXPECT_EQ(with("Host: localhost:81\r\nOrigin: " + std::string(origin) + "\r\n"), 200) << origin;
  for (const char* origin : {"null", "", "*", "http://localhost", "http://127.0.0.1:81",
                             "https://app.example", "http://app.example.evil",
                             "http://app.example/", "file://", "chrome-extension://localhost:81"})
    EXPECT_EQ(with("Host: localhost:81\r\nOrigin: " + std::string(origin) + "\r\n"), 403) << origin;
  const auto answer = running_->get("/v1/models", "Origin: http://app.example\r\n");
  EXPECT_THAT(answer.headers, HasSubstr("Access-Control-Allow-Origin: http://app.example\r\n"));
}

TEST(ServerOptions, AnOriginThatIsNoneIsRefusedAtTheStart) {
  for (const char* origin : {"null", "*", "", "http://a b", "http://a/", "app.example"}) {
    ServerOptions options = quiet();
    options.api.origins = {origin};
    try {
      Server server(test_session(), options);
      ADD_FAILURE() << origin;
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.findings().front().field, "--cors-origin") << origin;
      EXPECT_THAT(error.findings().front().way_out, HasSubstr("http://localhost:3000"));
    }
  }
}

TEST(ServerOptions, ANameThatBeginsLikeLoopbackNeedsKeys) {
  for (const char* host : {"127.evil.example", "127.0.0.1.nip.io", "127.", "[::]", "::"}) {
    ServerOptions options = quiet();
    options.host = host;
    EXPECT_THROW(Server(test_session(), options), InvalidRequest) << host;
  }
}

TEST_F(ServerAnswers, ARequestRunsOnTheBackendThatItNames) {
  Json request = apple(3, {{"num_inference_steps", 1}, {"width", 64}, {"height", 64}});
  request["backend"] = "no-such-backend";
  const auto refused = running_->post("/v1/generate", request);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, HasSubstr("no-such-backend"));
  request["backend"] = "cpu-stub";
  const std::string id = running_->post("/v1/generate", request).json()["id"];
  running_->follow(id);
  EXPECT_EQ(running_->get("/v1/jobs/" + id).json()["report"]["backend"], "cpu-stub");
}

TEST_F(ServerAnswers, HeadIsAnsweredWhereGetIs) {
  for (const RouteInfo& route : Api::route_infos()) {
    if (route.method != "GET") continue;
    std::string path = route.path;
    for (const auto& [name, value] :
         {std::pair{"{id}", job_}, std::pair{"{number}", std::string("0")},
          std::pair{"{file}", std::string("app.js")}}) {
      if (const size_t at = path.find(name); at != std::string::npos)
        path.replace(at, std::string(name).size(), value);
    }
    auto status_of = [&](const char* method) {
      HttpClient client = running_->client();
      client.send(std::string(method) + " " + path +
                  " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
      const std::string all = client.read_all();
      if (std::string(method) == "HEAD") EXPECT_TRUE(all.ends_with("\r\n\r\n")) << path;
      return all.substr(9, 3);
    };
    EXPECT_EQ(status_of("HEAD"), status_of("GET")) << path;
  }
  EXPECT_EQ(running_->client().request("HEAD", "/v1/generate", "", "").status, 405);
}

TEST_F(ServerAnswers, AnArtifactComesWholeOrInParts) {
  const std::string path = "/v1/jobs/" + job_ + "/artifacts/0";
  const auto whole = running_->get(path);
  ASSERT_EQ(whole.status, 200);
  EXPECT_THAT(whole.headers,
              AllOf(HasSubstr("Content-Type: image/png"), HasSubstr("ETag: \"" + job_ + "-0\"")));
  const auto first = running_->get(path, "Range: bytes=0-99\r\n");
  const auto rest = running_->get(path, "Range: bytes=100-\r\nIf-Range: \"" + job_ + "-0\"\r\n");
  EXPECT_EQ(first.status, 206);
  EXPECT_EQ(first.body + rest.body, whole.body);
  EXPECT_EQ(running_->get(path, "Range: bytes=99999999-\r\n").status, 416);
}

TEST(FullDisk, NoJobIsAcceptedAndTheServerSaysSo) {
  ServerOptions options;
  options.api.reserved_disk_bytes = uint64_t{1} << 62;
  Running running(options);
  for (const char* route : {"/v1/generate", "/v1/validate", "/sdapi/v1/txt2img"}) {
    Json body = apple();
    if (std::string(route).starts_with("/sdapi")) body = {{"prompt", "a red apple"}};
    const auto refused = running.post(route, body);
    EXPECT_EQ(refused.status, 507) << route << refused.body;
    EXPECT_THAT(refused.body, HasSubstr("disk-full")) << route;
    EXPECT_THAT(refused.headers, HasSubstr("Retry-After: ")) << route;
  }
  const auto ready = running.get("/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(ready.json()["status"], "disk full");
  EXPECT_EQ(running.get("/healthz").status, 200);
  EXPECT_EQ(running.get("/v1/jobs").status, 200);
}

// The folder that a job writes to is the server's business: no 422.
TEST(FullDisk, AFindingAboutTheServersOwnFolderIsNoFaultOfTheClients) {
  const Finding full{"config.output_dir", "jobs/x", "its disk is full", "free some space"};
  EXPECT_THROW(throw_servers_own({full}, "/"), RunFailed);
  EXPECT_NO_THROW(throw_servers_own({{"config.width", "3", "too small", ""}}, "/"));
  EXPECT_FALSE(has_disk_room("/", uint64_t{1} << 62));
  EXPECT_TRUE(has_disk_room("/nowhere/at/all", 1));
  Job job{.state = JobState::failed};
  job.reason = {"DiskFull", "the server's disk is full"};
  EXPECT_EQ(problem_of_job(job, "1").status, 507);
}

TEST(FullDisk, AReserveIsGivenUpWhereThereIsNoRoom) {
  Temporary folder;
  const auto file = folder.path() / "reserve";
  DiskReserve reserve(folder.path(), 4096);
  reserve.take();
  EXPECT_EQ(std::filesystem::file_size(file), 4096u);
  EXPECT_FALSE(reserve.release_if_full());
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_TRUE(DiskReserve(folder.path(), uint64_t{1} << 62).release_if_full());
  EXPECT_FALSE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace omnirt::serve
