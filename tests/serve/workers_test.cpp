// Servers and workers over a Redis, all in this process: what a client sees of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "io/sha256.hpp"
#include "serve/broker/redis_connection.hpp"
#include "serve/broker/worker.hpp"
#include "serve/http.hpp"
#include "serve/redis_server.hpp"
#include "serve/running_server.hpp"

namespace omnirt::serve {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;

// Long enough that no busy machine makes anyone look dead.
constexpr int64_t lease_ms = 60'000;

WorkerOptions worker_options(const RedisServer& redis, std::set<WorkPart> parts = {}) {
  WorkerOptions options;
  options.redis = redis.url();
  options.models = quiet().models;
  options.lease_ms = lease_ms;
  if (!parts.empty()) options.parts = std::move(parts);
  return options;
}

ServerOptions server_options(const RedisServer& redis) {
  ServerOptions options;
  options.redis = redis.url();
  options.lease_ms = lease_ms;
  return options;
}

struct RunningWorker {
  explicit RunningWorker(const WorkerOptions& options) : worker(test_session(), options) {
    worker.start();
  }
  Worker worker;
};

struct Workers : ::testing::Test {
  void SetUp() override {
    if (!RedisServer::installed()) GTEST_SKIP() << RedisServer::missing;
    redis.emplace("a-secret-of-redis");
  }
  std::optional<RedisServer> redis;
};

std::string submit(const Running& server, Json request) {
  request["async"] = true;
  const auto answer = server.post("/v1/generate", request);
  EXPECT_EQ(answer.status, 202) << answer.body;
  return answer.json()["id"];
}

std::string image_of(const Running& server, const std::string& id) {
  const auto answer = server.get("/v1/jobs/" + id + "/artifacts/0");
  EXPECT_EQ(answer.status, 200) << answer.body;
  return pixels_of(answer.body);
}

// Workers would not have them.
TEST_F(Workers, AServerTakesNoAdapters) {
  Running server(server_options(*redis));
  const auto answer =
      server.client().post("/v1/adapters", form_of({{"name", "x"}, {"file", "x"}}), form_type);
  EXPECT_EQ(answer.status, 422);
  EXPECT_THAT(answer.body, HasSubstr("--lora-dir"));
  EXPECT_EQ(server.get("/v1/adapters").json()["adapters"].size(), 0u);
}

TEST_F(Workers, AnImageHasTheBitsThatItHasAloneThroughAnyServerAndWorker) {
  const Running first(server_options(*redis)), second(server_options(*redis));
  const RunningWorker one(worker_options(*redis)), two(worker_options(*redis));
  const auto direct = first.client().post(
      "/v1/generate", apple(3).dump(), "Content-Type: application/json\r\nAccept: image/png\r\n");
  ASSERT_EQ(direct.status, 200) << direct.body;
  EXPECT_EQ(pixels_of(direct.body), pixels_alone(apple(3)));
  std::vector<std::string> ids;
  for (int64_t seed = 4; seed < 8; ++seed) ids.push_back(submit(first, apple(seed)));
  for (size_t i = 0; i < ids.size(); ++i) {
    // Followed and fetched where it was not asked for.
    const std::string events = second.follow(ids[i]);
    EXPECT_THAT(events, HasSubstr("\"state\":\"queued\""));
    EXPECT_THAT(events, HasSubstr("\"stage\":\"denoise_loop\",\"step\":2,\"steps\":2"));
    EXPECT_THAT(events, HasSubstr("\"state\":\"done\""));
    EXPECT_EQ(image_of(second, ids[i]), pixels_alone(apple(4 + static_cast<int64_t>(i))));
  }
  EXPECT_EQ(first.get("/v1/jobs").json()["jobs"].size(), 5u);
  const Json job = second.get("/v1/jobs/" + ids[0]).json();
  EXPECT_EQ(job["model"], "emoji");
  EXPECT_EQ(job["crashes"], 0);
  EXPECT_THAT(job.dump(), Not(HasSubstr("/tmp")));
  EXPECT_EQ(job["request"]["inputs"]["prompt"], "a red apple");
}

TEST_F(Workers, AnImageThatIsSentGoesToTheWorkerWithItsRequest) {
  const Running server(server_options(*redis));
  const RunningWorker worker(worker_options(*redis));
  const auto made = server.client().post("/v1/generate", apple(3).dump(),
                                         "Content-Type: application/json\r\nAccept: image/png\r\n");
  ASSERT_EQ(made.status, 200) << made.body;
  const std::string boundary = "xyz";
  auto part = [&](const std::string& name, const std::string& bytes) {
    return "--xyz\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + bytes +
           "\r\n";
  };
  const Json request = {{"model", "emoji-sd"},
                        {"inputs", {{"prompt", "a green apple"}}},
                        {"config", {{"seed", 3}, {"num_inference_steps", 2}}}};
  const std::string body =
      part("request", request.dump()) + part("image", made.body) + "--xyz--\r\n";
  const auto answer = server.client().post("/v1/generate", body,
                                           "Content-Type: multipart/form-data; boundary=xyz\r\n");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["artifacts"].size(), 1u);
  EXPECT_EQ(answer.json()["report"]["task"], "image2image");
}

TEST_F(Workers, PartsOfARunByDifferentWorkersMakeTheSameBits) {
  const Running server(server_options(*redis));
  using enum WorkPart;
  const RunningWorker encodes(worker_options(*redis, {encode}));
  const RunningWorker denoises(worker_options(*redis, {denoise}));
  const RunningWorker decodes(worker_options(*redis, {decode}));
  for (const char* model : {"emoji", "emoji-sd"}) {
    Json request = apple(5);
    request["model"] = model;
    const std::string id = submit(server, request);
    EXPECT_THAT(server.follow(id), HasSubstr("\"state\":\"done\""));
    EXPECT_EQ(image_of(server, id), pixels_alone(request));
    const Json job = server.get("/v1/jobs/" + id).json();
    EXPECT_EQ(job["attempts"], 3);
    EXPECT_EQ(job["crashes"], 0);
    const Json& parts = job["report"]["parts"];
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_EQ(parts[0]["worker"], encodes.worker.id());
    EXPECT_EQ(parts[1]["worker"], denoises.worker.id());
    EXPECT_EQ(parts[1]["denoise_steps_ms"].size(), 2u);
    EXPECT_EQ(parts[2]["worker"], decodes.worker.id());
  }
}

TEST_F(Workers, ACancelReachesTheWorkerWithinAStep) {
  const Running first(server_options(*redis)), second(server_options(*redis));
  const RunningWorker worker(worker_options(*redis));
  const std::string id = submit(first, apple(3, {{"num_inference_steps", 1000}}));
  HttpClient reader(first.server.port());
  reader.send("GET /v1/jobs/" + id + "/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  reader.read_until(R"("stage":"denoise_loop","step":1,)");
  const auto answer = second.client().request("DELETE", "/v1/jobs/" + id, "", "");
  EXPECT_EQ(answer.status, 202) << answer.body;
  EXPECT_THAT(second.follow(id), HasSubstr("\"state\":\"cancelled\""));
}

TEST_F(Workers, AResultThatIsTooLargeIsRefusedByName) {
  const Running server(server_options(*redis));
  WorkerOptions small = worker_options(*redis);
  small.max_bytes = 10;
  const RunningWorker worker(small);
  const std::string id = submit(server, apple(3));
  EXPECT_THAT(server.follow(id), HasSubstr("--max-result"));
  EXPECT_EQ(server.get("/v1/jobs/" + id).json()["state"], "failed");
}

TEST_F(Workers, AWorkerThatLeavesHandsItsRunBack) {
  const Running server(server_options(*redis));
  auto first = std::make_unique<RunningWorker>(worker_options(*redis));
  const std::string id = submit(server, apple(3, {{"num_inference_steps", 1000}}));
  HttpClient reader(server.server.port());
  reader.send("GET /v1/jobs/" + id + "/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  reader.read_until(R"("stage":"denoise_loop","step":1,)");
  first.reset();
  Json job = server.get("/v1/jobs/" + id).json();
  EXPECT_EQ(job["state"], "queued");
  EXPECT_EQ(job["crashes"], 0);
  server.client().request("DELETE", "/v1/jobs/" + id, "", "");
}

TEST_F(Workers, RedisIsStartedAgainUnderAllOfThem) {
  const Running server(server_options(*redis));
  const RunningWorker worker(worker_options(*redis));
  const std::string id = submit(server, apple(3, {{"num_inference_steps", 40}}));
  HttpClient reader(server.server.port());
  reader.send("GET /v1/jobs/" + id + "/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  reader.read_until(R"("stage":"denoise_loop","step":1,)");
  redis->kill();
  EXPECT_EQ(server.get("/readyz").status, 503);
  EXPECT_EQ(server.get("/healthz").status, 200);
  const auto refused = server.post("/v1/generate", apple(3));
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_THAT(refused.body, Not(HasSubstr("127.0.0.1")));
  redis->start();
  while (server.get("/readyz").status != 200) std::this_thread::yield();
  EXPECT_THAT(server.follow(id), HasSubstr("\"state\":\"done\""));
  EXPECT_EQ(image_of(server, id), pixels_alone(apple(3, {{"num_inference_steps", 40}})));
  EXPECT_EQ(server.get("/v1/jobs/" + id).json()["crashes"], 0);
}

// A record as anyone who reaches Redis can write it.
void store_at(RedisConnection& raw, const SharedJob& shared, const std::string& result) {
  const std::string& id = shared.job.id;
  const bool ended = has_ended(shared.job.state);
  raw.call({"HSET", "omnirt:j:" + id, "v", "1", "d", shared_job_text(shared), "st",
            name_of(shared.job.state), "a", "0", "x", "0", "c", "anonymous", "r",
            R"({"request": {"model": "emoji", "inputs": {"prompt": "x"}}, "strict": false})", "o",
            result});
  raw.call({"ZADD", "omnirt:jobs", "1", id});
  if (ended)
    raw.call({"ZADD", "omnirt:ended", std::to_string(shared.job.ended_ms), id});
  else
    raw.call({"SADD", "omnirt:line", id});
}

SharedJob record(const std::string& id, JobState state) {
  SharedJob shared;
  shared.job.id = id;
  shared.job.client = "anonymous";
  shared.job.model = state == JobState::queued ? "emoji" : "nosuch";
  shared.job.state = state;
  shared.job.ended_ms = int64_t{1} << 50;
  return shared;
}

TEST_F(Workers, WhatOthersWriteAtRedisReachesNoFileAndEndsNoProcess) {
  namespace fs = std::filesystem;
  Temporary scratch;
  const fs::path victim = scratch.path() / "photos";
  fs::create_directories(victim);
  std::ofstream(victim / "a.txt") << "precious";
  const Running server(server_options(*redis));
  const RunningWorker worker(worker_options(*redis));
  RedisConnection raw(redis->url(), 20'000);
  // Deleted with its files, if a worker took its id for the name of a folder.
  store_at(raw, record(victim.string(), JobState::queued), "");
  // Read and written, if a server took names of artifacts for paths.
  const std::string reads = random_id(), list = random_id(), new_file = victim / "new/key";
  Json result = {{"artifacts", Json::array()}, {"report", Json::object()}};
  for (const std::string& name : {(victim / "a.txt").string(), new_file}) {
    result["artifacts"].push_back({{"name", name},
                                   {"mime", "text/html\r\nX-Evil: 1"},
                                   {"kind", "image"},
                                   {"width", 1},
                                   {"height", 1},
                                   {"seed", 1},
                                   {"bytes", 8}});
  }
  store_at(raw, record(reads, JobState::done), result.dump());
  raw.call({"HSET", "omnirt:f:" + reads + ":0", new_file, "attacker"});
  store_at(raw, record(list, JobState::done), "[]");
  for (const std::string& id : {reads, list}) {
    EXPECT_EQ(server.get("/v1/jobs/" + id).json()["state"], "dead");
    for (const char* number : {"0", "1"})
      EXPECT_EQ(server.get("/v1/jobs/" + id + "/artifacts/" + number).status, 404);
  }
  // Sent to whoever follows the job, if events were not read whole.
  const std::string waits = random_id();
  SharedJob waiting = record(waits, JobState::queued);
  waiting.job.model = "nosuch";
  store_at(raw, waiting, "");
  HttpClient reader(server.server.port());
  reader.send("GET /v1/jobs/" + waits + "/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  reader.read_until("\"queued\"");
  for (const char* data : {"", "{}", "x\nevent: y"})
    raw.call({"XADD", "omnirt:events", "*", "job", waits, "n", "5", "k", "progress", "d", data});
  EXPECT_EQ(server.client().request("DELETE", "/v1/jobs/" + waits, "", "").status, 200);
  EXPECT_THAT(reader.read_until("cancelled"), Not(HasSubstr("progress")));
  // All of that is behind this job, which is made as ever.
  const std::string id = submit(server, apple(3));
  EXPECT_THAT(server.follow(id), HasSubstr("\"state\":\"done\""));
  EXPECT_EQ(image_of(server, id), pixels_alone(apple(3)));
  EXPECT_EQ(server.get("/v1/jobs").status, 200);
  EXPECT_EQ(fs::file_size(victim / "a.txt"), 8u);
  EXPECT_FALSE(fs::exists(new_file));
}

TEST_F(Workers, TheEndOfARunWaitsWhileRedisHasNoMemory) {
  const Running server(server_options(*redis));
  const RunningWorker worker(worker_options(*redis));
  RedisConnection raw(redis->url(), 20'000);
  const Json request = apple(3, {{"num_inference_steps", 40}});
  const std::string id = submit(server, request);
  HttpClient reader(server.server.port());
  reader.send("GET /v1/jobs/" + id + "/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  reader.read_until(R"("stage":"denoise_loop","step":1,)");
  raw.call({"CONFIG", "SET", "maxmemory", "1"});
  const auto ready = server.get("/readyz");
  EXPECT_EQ(ready.status, 503) << ready.body;
  const auto refused = server.post("/v1/generate", apple(3));
  EXPECT_EQ(refused.status, 503) << refused.body;
  for (const char* each : {"127.0.0.1", "OOM", "script"})
    EXPECT_THAT(refused.body, Not(HasSubstr(each)));
  // Heartbeats and events go on, and the run to its end.
  reader.read_until(R"("stage":"denoise_loop","step":40,)");
  EXPECT_EQ(server.get("/v1/jobs/" + id).json()["state"], "running");
  raw.call({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_THAT(server.follow(id), HasSubstr("\"state\":\"done\""));
  EXPECT_EQ(image_of(server, id), pixels_alone(request));
  EXPECT_EQ(server.get("/v1/jobs/" + id).json()["crashes"], 0);
  EXPECT_EQ(server.get("/readyz").status, 200);
}

TEST_F(Workers, MetricsCountThem) {
  const Running server(server_options(*redis));
  WorkerOptions options = worker_options(*redis);
  options.port = 0;
  const RunningWorker worker(options);
  EXPECT_THAT(server.follow(submit(server, apple(3))), HasSubstr("\"state\":\"done\""));
  auto ask = [&](const std::string& path) {
    return HttpClient(static_cast<uint16_t>(worker.worker.port())).get(path);
  };
  const std::string counted = "omnirt_jobs_total{state=\"done\"} 1";
  std::string text = ask("/metrics").body;
  // It counts a job behind its delivery.
  for (int tries = 0; tries < 1000 && text.find(counted) == std::string::npos; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    text = ask("/metrics").body;
  }
  EXPECT_THAT(text, HasSubstr(counted));
  EXPECT_THAT(text, HasSubstr("omnirt_broker_up 1"));
  EXPECT_THAT(text, HasSubstr("omnirt_broker_heartbeats "));
  EXPECT_THAT(text, HasSubstr("omnirt_broker_claims 0"));
  EXPECT_EQ(ask("/readyz").status, 200);
  EXPECT_EQ(ask("/healthz").status, 200);
  EXPECT_EQ(ask("/v1/jobs").status, 404);
  const std::string served = server.get("/metrics").body;
  EXPECT_THAT(served, HasSubstr("omnirt_broker_up 1"));
  EXPECT_THAT(served, HasSubstr("omnirt_workers{part=\"denoise\"}"));
  EXPECT_THAT(served, HasSubstr("omnirt_dead_letters"));
}

// Counts are for whoever has a key, on every address but this machine's own.
TEST_F(Workers, MetricsNeedAKeyWhereOtherMachinesReachThem) {
  Temporary scratch;
  const std::string file = scratch.path() / "keys.json";
  const auto digest = [](const std::string& key) {
    io::Sha256 sha;
    sha.add(key);
    return sha.hex();
  };
  std::ofstream(file) << Json{
      {"keys",
       {{{"name", "monitor"}, {"sha256", digest("counts")}, {"scopes", {"metrics"}}},
        {{"name", "ann"}, {"sha256", digest("images")}}}}};
  WorkerOptions options = worker_options(*redis);
  options.host = "0.0.0.0";
  options.port = 0;
  EXPECT_THROW(RunningWorker{options}, InvalidRequest);
  options.key_file = file;
  const RunningWorker worker(options);
  auto status = [&](const std::string& path, const std::string& key) {
    return HttpClient(static_cast<uint16_t>(worker.worker.port()))
        .get(path, key.empty() ? "" : "Authorization: Bearer " + key + "\r\n")
        .status;
  };
  EXPECT_EQ(status("/metrics", ""), 401);
  EXPECT_EQ(status("/metrics", "wrong"), 401);
  EXPECT_EQ(status("/metrics", "images"), 403);
  EXPECT_EQ(status("/metrics", "counts"), 200);
  EXPECT_EQ(status("/healthz", ""), 200);
}

TEST_F(Workers, NoLogHoldsAPassword) {
  std::ostringstream text;
  auto before = spdlog::default_logger();
  auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text);
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", sink));
  spdlog::set_level(spdlog::level::trace);
  {
    const Running server(server_options(*redis));
    spdlog::set_level(spdlog::level::trace);
    const RunningWorker worker(worker_options(*redis));
    EXPECT_THAT(server.follow(submit(server, apple(3))), HasSubstr("\"state\":\"done\""));
    redis->kill();
    EXPECT_EQ(server.get("/readyz").status, 503);
  }
  spdlog::set_default_logger(before);
  spdlog::set_level(spdlog::level::err);
  EXPECT_THAT(text.str(), Not(HasSubstr("a-secret-of-redis")));
  EXPECT_THAT(text.str(), HasSubstr("job"));
}

TEST_F(Workers, WhatIsOfThisProcessesJobsIsRefusedWithRedis) {
  ServerOptions options = server_options(*redis);
  options.state = "/tmp/some-state";
  EXPECT_THROW(Running{options}, InvalidRequest);
  options = server_options(*redis);
  options.api.memory_budget = "1GB";
  EXPECT_THROW(Running{options}, InvalidRequest);
  options = server_options(*redis);
  redis->kill();
  EXPECT_THROW(Running{options}, Error);
}

}  // namespace
}  // namespace omnirt::serve
