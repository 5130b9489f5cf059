// The server over real sockets, on a port of its own, with the embedded model.
#include "serve/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "io/file.hpp"
#include "io/image.hpp"
#include "io/sha256.hpp"
#include "serve/base64.hpp"
#include "serve/http_client.hpp"
#include "serve/running_server.hpp"
#include "serve/temporary.hpp"
#include "source_paths.hpp"

namespace omnirt::serve {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

Session& session() {
  return test_session();
}

TEST(Server, SaysThatItLivesAndIsReady) {
  Running running;
  EXPECT_EQ(running.get("/healthz").json()["status"], "ok");
  EXPECT_EQ(running.get("/readyz").status, 200);
  running.server.drain(0);
  EXPECT_EQ(running.get("/readyz").status, 503);
  EXPECT_EQ(running.get("/healthz").status, 200);
  EXPECT_EQ(running.post("/v1/generate", apple()).status, 503);
}

TEST(Server, MakesTheImageThatTheSessionMakes) {
  Running running;
  const Json done = running.post("/v1/generate", apple()).json();
  EXPECT_EQ(done["state"], "done");
  ASSERT_EQ(done["artifacts"].size(), 1u);
  auto png = bytes_of_base64(done["artifacts"][0]["data"].get<std::string>());
  ASSERT_TRUE(png);
  EXPECT_TRUE(pixels_of(*png) == pixels_alone(apple()));
  EXPECT_EQ(running.get(done["artifacts"][0]["url"].get<std::string>()).body, *png);
  EXPECT_EQ(done["report"]["config_resolved"]["seed"]["value"], 3);
}

TEST(Server, GivesTheImageItselfToWhoTakesImages) {
  Running running;
  const auto answer = running.client().post(
      "/v1/generate", apple().dump(), "Content-Type: application/json\r\nAccept: image/png\r\n");
  EXPECT_THAT(answer.headers, HasSubstr("Content-Type: image/png"));
  EXPECT_TRUE(pixels_of(answer.body) == pixels_alone(apple()));
}

TEST(Server, JobsAreFollowedStepByStepAndResumed) {
  Running running;
  Json request = apple(4, {{"preview_every", 1}});
  request["async"] = true;
  auto accepted = running.post("/v1/generate", request);
  EXPECT_EQ(accepted.status, 202);
  const std::string id = accepted.json()["id"].get<std::string>();
  EXPECT_THAT(accepted.headers, HasSubstr("Location: /v1/jobs/" + id));
  const std::string events = running.follow(id);
  EXPECT_THAT(events, AllOf(HasSubstr("text/event-stream"), HasSubstr("event: preview"),
                            HasSubstr(R"("step":2,"steps":2)"), HasSubstr(R"("state":"done")")));
  // The one before the last.
  const size_t last = events.rfind("\nid: ");
  const size_t before = events.rfind("\nid: ", last - 1);
  const std::string seen = events.substr(before + 5, events.find('\n', before + 1) - before - 5);
  const std::string rest = running.follow(id, "Last-Event-ID: " + seen + "\r\n");
  EXPECT_THAT(rest, AllOf(HasSubstr(R"("state":"done")"), Not(HasSubstr("progress"))));
  EXPECT_THAT(running.follow(id, "Connection: close\r\nLast-Event-ID: 1999999\r\n"),
              HasSubstr("204 No Content"));
  const Json job = running.get("/v1/jobs/" + id).json();
  EXPECT_EQ(job["state"], "done");
  EXPECT_EQ(running.get("/v1/jobs").json()["jobs"][0]["id"], id);
  EXPECT_EQ(running.get("/v1/jobs/" + id + "/artifacts/1").status, 404);
  EXPECT_EQ(running.get("/v1/jobs/" + id + "/artifacts/0").status, 200);
}

TEST(Server, AShorterJobIsDoneWhileALongOneRuns) {
  Running running;
  Json request = apple(1, {{"num_inference_steps", 1000}});
  request["async"] = true;
  const std::string id = running.post("/v1/generate", request).json()["id"].get<std::string>();
  HttpClient reader = running.client();
  reader.send("GET /v1/jobs/" + id + "/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  reader.read_until(R"("step":1,)");
  const Json done = running.post("/v1/generate", apple()).json();
  EXPECT_EQ(done["state"], "done");
  auto png = bytes_of_base64(done["artifacts"][0]["data"].get<std::string>());
  EXPECT_TRUE(pixels_of(*png) == pixels_alone(apple()));
  EXPECT_EQ(running.get("/v1/jobs/" + id).json()["state"], "running");
  // Cancelled within a step.
  const auto cancelled = running.client().request("DELETE", "/v1/jobs/" + id, "", "");
  EXPECT_EQ(cancelled.status, 202);
  EXPECT_THAT(reader.read_all(), HasSubstr(R"("state":"cancelled")"));
}

TEST(Server, ARunThatWasPausedHasTheBitsThatItHasAlone) {
  Running running;
  const Json settings = {{"num_inference_steps", 40}};
  Json request = apple(6, settings);
  request["async"] = true;
  const std::string id = running.post("/v1/generate", request).json()["id"].get<std::string>();
  HttpClient reader = running.client();
  reader.send("GET /v1/jobs/" + id + "/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  for (const char* step : {R"("step":1,)", R"("step":3,)", R"("step":9,)"}) {
    reader.read_until(step);
    EXPECT_EQ(running.post("/v1/generate", apple(7)).status, 200);
  }
  EXPECT_THAT(reader.read_all(), HasSubstr(R"("state":"done")"));
  const std::string png = running.get("/v1/jobs/" + id + "/artifacts/0").body;
  EXPECT_TRUE(pixels_of(png) == pixels_alone(apple(6, settings)));
}

TEST(Server, ARunEndsWithTheClientThatWaitsForIt) {
  Running running;
  HttpClient leaves = running.client();
  const std::string body = apple(1, {{"num_inference_steps", 1000}}).dump();
  leaves.send(
      "POST /v1/generate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  Json jobs;
  do {
    jobs = running.get("/v1/jobs").json()["jobs"];
  } while (jobs.empty() || jobs[0]["state"] != "running");
  leaves.close();
  EXPECT_THAT(running.follow(jobs[0]["id"].get<std::string>()),
              HasSubstr(R"("state":"cancelled")"));
}

// What stands for a file within the server stands for none in a text.
TEST(Server, TextsAreNoObjects) {
  Running running;
  const Json file = {{"sent file", "x"}};
  for (const Json& prompt : {file, Json{{"sent file", {{"a", 1}}}}, Json::array({"a", file})}) {
    Json request = apple();
    request["inputs"]["prompt"] = prompt;
    const auto answer = running.post("/v1/generate", request);
    EXPECT_EQ(answer.status, 422) << answer.body;
    EXPECT_THAT(answer.body, HasSubstr("inputs.prompt"));
  }
}

TEST(Server, NoRequestNamesAPathOfTheServer) {
  Running running;
  Json request = apple();
  request["inputs"]["image"] = "/etc/passwd";
  request["config"].update({{"output", "x.png"},
                            {"output_dir", "."},
                            {"state", "x"},
                            {"resume", "x"},
                            {"preview_dir", "x"},
                            {"model_path", "x"},
                            {"single_file_config", "x"},
                            {"stop_after", "denoise"},
                            {"preview_decoder", "/x"},
                            {"hires_upscaler", "x.safetensors"},
                            {"scheduler", "../x"}});
  request["components"]["vae"] = "x";
  request["adapters"] = {"../x.safetensors:1", {{"path", "/x"}}};
  request["guider"] = {{"type", "a/b"}};
  const auto answer = running.post("/v1/generate", request);
  EXPECT_EQ(answer.status, 422);
  EXPECT_THAT(answer.headers, HasSubstr("application/problem+json"));
  std::string fields;
  const Json problem = answer.json();
  for (const Json& error : problem["errors"]) fields += error["field"].get<std::string>() + " ";
  for (const char* field :
       {"inputs.image", "config.output ", "config.output_dir", "config.state", "config.resume",
        "config.preview_dir", "config.model_path", "config.single_file_config", "config.stop_after",
        "config.preview_decoder", "config.hires_upscaler", "config.scheduler", "components.vae",
        "adapters[0]", "adapters[1]", "guider.type"})
    EXPECT_THAT(fields, HasSubstr(field));
  request = apple();
  request["model"] = source_path("models/emoji").string();
  EXPECT_EQ(running.post("/v1/generate", request).status, 422);
  request = apple(1, {{"prompt_syntax", "a1111"}});
  request["inputs"]["prompt"] = "an apple <lora:/etc/x:1>";
  EXPECT_EQ(running.post("/v1/generate", request).status, 422);
}

TEST(Server, NoAnswerTellsAPathOfTheServer) {
  Running running;
  for (const auto& answer :
       {running.post("/v1/generate", apple()), running.post("/v1/validate", apple()),
        running.get("/v1/models"), running.get("/v1/jobs"),
        running.post("/v1/generate", apple(1, {{"width", 3}}))})
    EXPECT_THAT(answer.body,
                AllOf(Not(HasSubstr(source_path("").string())), Not(HasSubstr("/omnirt-serve-"))));
  auto png = running.client().post("/v1/generate", apple().dump(),
                                   "Content-Type: application/json\r\nAccept: image/png\r\n");
  EXPECT_THAT(png.body, Not(HasSubstr(source_path("").string())));
}

TEST(Server, AnAdapterIsFoundByItsName) {
  ServerOptions options;
  options.models = {"tiny=" + source_path("tests/goldens/pipelines/sd15/model").string()};
  options.lora_folders = {source_path("tests/goldens/adapters/files").string()};
  Running running(options);
  Json request = {{"inputs", {{"prompt", "a red apple"}}},
                  {"adapters", {"kohya:0.5"}},
                  {"config", {{"seed", 3}, {"num_inference_steps", 2}}}};
  const Json done = running.post("/v1/generate", request).json();
  ASSERT_EQ(done["state"], "done") << done;
  EXPECT_EQ(done["report"]["adapters"][0]["path"], "kohya.safetensors");
  EXPECT_EQ(done["report"]["adapters"][0]["scale"], 0.5);
  request["adapters"] = {"nothing"};
  EXPECT_EQ(running.post("/v1/generate", request).status, 422);
}

TEST(Server, FindingsAreThoseOfTheCommandLine) {
  Running running;
  const auto answer = running.post("/v1/validate", apple(1, {{"width", 130}}));
  EXPECT_EQ(answer.status, 422);
  GenerateRequest direct = parse_request(apple(1, {{"width", 130}}));
  direct.model = source_path("models/emoji").string();
  const auto checked = session().check(direct, false, Files::where_named);
  ASSERT_EQ(checked.errors.size(), 1u);
  const Json error = answer.json()["errors"][0];
  EXPECT_EQ(error["field"], checked.errors[0].field);
  EXPECT_EQ(error["message"], checked.errors[0].message);
  EXPECT_EQ(running.post("/v1/validate", apple()).json()["ok"], true);
}

std::string apple_png() {
  return io::encode_image(io::Image::zeros(128, 128, 3), io::ImageFormat::png);
}

TEST(Server, ImagesComeAsBase64OrAsParts) {
  Running running;
  Json request = {
      {"model", "emoji-sd"},
      {"inputs", {{"prompt", "a green apple"}, {"image", {{"data", base64_of(apple_png())}}}}},
      {"config", {{"seed", 1}, {"num_inference_steps", 4}, {"strength", 0.5}}}};
  const std::string accept = "Accept: image/png\r\n";
  const auto base64 = running.client().post("/v1/generate", request.dump(),
                                            "Content-Type: application/json\r\n" + accept);
  EXPECT_EQ(base64.status, 200) << base64.body;
  request["inputs"].erase("image");
  const std::string body = "--xx\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n" +
                           request.dump() +
                           "\r\n--xx\r\nContent-Disposition: form-data; name=\"image\"; "
                           "filename=\"../../x.png\"\r\nContent-Type: image/png\r\n\r\n" +
                           apple_png() + "\r\n--xx--\r\n";
  const auto parts = running.client().post(
      "/v1/generate", body, "Content-Type: multipart/form-data; boundary=xx\r\n" + accept);
  EXPECT_EQ(parts.status, 200) << parts.body;
  EXPECT_TRUE(pixels_of(parts.body) == pixels_of(base64.body));
  request["inputs"]["image"] = {{"data", "no base64!"}};
  EXPECT_EQ(running.post("/v1/generate", request).status, 422);
  request["inputs"]["image"] = {{"data", base64_of("no image")}};
  EXPECT_EQ(running.post("/v1/generate", request).status, 422);
}

TEST(Server, LimitsHoldForHeadersBodiesAndDepth) {
  Running running({.http = {.body_bytes = 100'000}});
  EXPECT_EQ(running.get("/v1/models", "X-Long: " + std::string(40'000, 'x') + "\r\n").status, 431);
  EXPECT_EQ(running.post("/v1/generate", {{"x", std::string(200'000, 'x')}}).status, 413);
  const std::string json = "Content-Type: application/json\r\n";
  EXPECT_EQ(running.client().post("/v1/generate", std::string(10'000, '['), json).status, 400);
  EXPECT_EQ(running.client().post("/v1/generate", "{bad", json).status, 400);
  EXPECT_EQ(running.client().post("/v1/generate", "{}", "Content-Type: text/plain\r\n").status,
            415);
  HttpClient chunked = running.client();
  chunked.send("POST /v1/generate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n" +
               json + "\r\n2\r\n{}\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.read().status, 411);
  HttpClient odd = running.client();
  odd.send("\x16\x03\x01 nothing of HTTP\r\n\r\n");
  EXPECT_EQ(odd.read().status, 400);
}

TEST(Server, AClientThatWaitsForLeaveToSendItsBodyIsGivenIt) {
  Running running;
  HttpClient client = running.client();
  const std::string body = apple().dump();
  client.send(
      "POST /v1/validate HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
      "Content-Type: application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n");
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("100 Continue"));
  client.send(body);
  EXPECT_EQ(client.read().status, 200);
  // And again over the same connection.
  EXPECT_EQ(client.get("/healthz").status, 200);
}

TEST(Server, AFullQueueSaysWhenToComeAgain) {
  ServerOptions options;
  options.jobs.queue.waiting = 1;
  options.jobs.in_flight = 1;
  Running running(options);
  Json request = apple(1, {{"num_inference_steps", 1000}});
  request["async"] = true;
  std::vector<HttpClient::Answer> answers;
  for (int i = 0; i < 3; ++i) answers.push_back(running.post("/v1/generate", request));
  EXPECT_EQ(answers[2].status, 429);
  EXPECT_THAT(answers[2].headers, HasSubstr("Retry-After: "));
  EXPECT_THAT(answers[2].body, HasSubstr("queue-full"));
  // In the forms of the other programs' routes as well.
  for (const char* route : {"/v1/images/generations", "/sdapi/v1/txt2img"}) {
    const auto refused = running.post(route, {{"prompt", "a red apple"}});
    EXPECT_EQ(refused.status, 429) << route << refused.body;
    EXPECT_THAT(refused.headers, HasSubstr("Retry-After: ")) << route;
  }
}

struct Keyed {
  Keyed() {
    auto key = [](const char* name, const char* secret, const Json& more) {
      io::Sha256 digest;
      digest.add(secret);
      Json json = {{"name", name}, {"sha256", digest.hex()}};
      json.update(more);
      return json;
    };
    const Json file = {
        {"keys",
         {key("ann", "ann-key", {{"priority", "normal"}, {"jobs", 1}}),
          key("bob", "bob-key", Json::object()), key("boss", "boss-key", {{"scopes", {"admin"}}}),
          key("few", "few-key", {{"requests_per_minute", 1}}),
          key("watcher", "watch-key", {{"scopes", {"metrics"}}})}}};
    io::write_file(folder.path() / "keys.json", file.dump());
    ServerOptions options;
    options.key_file = (folder.path() / "keys.json").string();
    running = std::make_unique<Running>(options);
  }
  int get(const std::string& path, const std::string& key) const {
    return running->get(path, "Authorization: Bearer " + key + "\r\n").status;
  }
  Temporary folder;
  std::unique_ptr<Running> running;
};

TEST(Server, KeysAreNeededOnAllRoutesButHealth) {
  Keyed keyed;
  EXPECT_EQ(keyed.running->get("/healthz").status, 200);
  for (const char* path : {"/v1/models", "/v1/jobs", "/metrics", "/v1/jobs/x/events", "/nothing"})
    EXPECT_EQ(keyed.running->get(path).status, 401) << path;
  EXPECT_EQ(keyed.get("/v1/models", "ann-key"), 200);
  EXPECT_EQ(keyed.get("/v1/models", "ann-keyx"), 401);
  EXPECT_EQ(keyed.running->get("/v1/models", "X-Api-Key: bob-key\r\n").status, 200);
  EXPECT_EQ(keyed.get("/metrics", "ann-key"), 403);
  EXPECT_EQ(keyed.get("/metrics", "watch-key"), 200);
  EXPECT_EQ(keyed.get("/v1/models", "watch-key"), 403);
}

TEST(Server, AKeyHasItsLimitsAndItsJobs) {
  Keyed keyed;
  EXPECT_EQ(keyed.get("/v1/models", "few-key"), 200);
  EXPECT_EQ(keyed.get("/v1/models", "few-key"), 429);
  const std::string ann = "Content-Type: application/json\r\nAuthorization: Bearer ann-key\r\n";
  Json request = apple(1, {{"num_inference_steps", 1000}});
  request["async"] = true;
  auto accepted = keyed.running->client().post("/v1/generate", request.dump(), ann);
  EXPECT_EQ(accepted.status, 202);
  EXPECT_EQ(keyed.running->client().post("/v1/generate", request.dump(), ann).status, 429);
  const std::string path = "/v1/jobs/" + accepted.json()["id"].get<std::string>();
  EXPECT_EQ(keyed.get(path, "bob-key"), 404);
  EXPECT_EQ(keyed.get(path, "ann-key"), 200);
  EXPECT_EQ(keyed.get(path, "boss-key"), 200);
  request["priority"] = "high";
  EXPECT_EQ(keyed.running->client().post("/v1/generate", request.dump(), ann).status, 422);
}

TEST(Server, PagesOfOtherOriginsAreRefusedUnlessNamed) {
  ServerOptions options;
  options.api.origins = {"http://app.example"};
  Running running(options);
  EXPECT_EQ(running.get("/v1/models", "Origin: http://evil.example\r\n").status, 403);
  EXPECT_EQ(running.get("/v1/models", "Host: evil.example\r\n").status, 421);
  const auto answer = running.get("/v1/models", "Origin: http://app.example\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.headers, HasSubstr("Access-Control-Allow-Origin: http://app.example"));
  EXPECT_EQ(running.client()
                .request("OPTIONS", "/v1/generate", "Origin: http://app.example\r\n", "")
                .status,
            204);
}

TEST(Server, AnOpenAddressNeedsKeys) {
  ServerOptions options = quiet();
  options.host = "0.0.0.0";
  EXPECT_THROW(Server(session(), options), InvalidRequest);
}

TEST(Server, AServerThatCannotStartLeavesNothing) {
  Temporary folder;
  ASSERT_EQ(setenv("TMPDIR", folder.path().c_str(), 1), 0);
  ServerOptions options = quiet();
  options.host = "0.0.0.0";
  EXPECT_THROW(Server(session(), options), InvalidRequest);
  { Running running; }
  unsetenv("TMPDIR");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Server, JobsAreThereAfterARestart) {
  Temporary folder;
  ServerOptions options;
  options.state = (folder.path() / "state").string();
  std::string done, image, waiting;
  {
    Running running(options);
    const Json job = running.post("/v1/generate", apple()).json();
    done = job["id"].get<std::string>();
    image = running.get("/v1/jobs/" + done + "/artifacts/0").body;
    Json request = apple(5, {{"num_inference_steps", 1000}});
    request["async"] = true;
    waiting = running.post("/v1/generate", request).json()["id"].get<std::string>();
  }
  Running running(options);
  EXPECT_EQ(running.get("/v1/jobs/" + done).json()["state"], "done");
  EXPECT_EQ(running.get("/v1/jobs/" + done + "/artifacts/0").body, image);
  const Json job = running.get("/v1/jobs/" + waiting).json();
  EXPECT_THAT(job["state"].get<std::string>(), ::testing::AnyOf("queued", "running"));
  EXPECT_EQ(job["crashes"], 0);
  EXPECT_EQ(running.client().request("DELETE", "/v1/jobs/" + waiting, "", "").json()["id"],
            waiting);
}

TEST(Server, MetricsCountWhatHappened) {
  Running running;
  running.post("/v1/generate", apple());
  const std::string text = running.get("/metrics").body;
  EXPECT_THAT(text, AllOf(HasSubstr("omnirt_jobs_total{state=\"done\"} 1"),
                          HasSubstr("omnirt_stage_duration_seconds_bucket{stage=\"denoise_loop\""),
                          HasSubstr("omnirt_queue_depth 0"), HasSubstr("omnirt_cache_hits_total")));
}

}  // namespace
}  // namespace omnirt::serve
