// Adapters that are sent to a server: what is taken, how requests name them, and that a job keeps
// those that it uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "io/file.hpp"
#include "io/image.hpp"
#include "io/sha256.hpp"
#include "serve/adapter_store.hpp"
#include "serve/base64.hpp"
#include "serve/problem.hpp"
#include "serve/running_server.hpp"
#include "serve/temporary.hpp"
#include "source_paths.hpp"

namespace omnirt::serve {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

const std::string goldens = source_path("tests/goldens/").string();

std::string bytes_of(const std::string& path) {
  return io::read_file(goldens + path, size_t{1} << 20);
}
std::string lora() {
  return bytes_of("adapters/files/kohya.safetensors");
}
std::string net(const std::string& file) {
  return bytes_of("control/parts/controlnet_a/" + file);
}

ServerOptions tiny(ServerOptions options = {}) {
  options.models = {"tiny=" + goldens + "pipelines/sd15/model"};
  return options;
}

HttpClient::Answer send(const Running& running,
                        const std::vector<std::pair<std::string, std::string>>& parts,
                        const std::string& headers = "") {
  return running.client().post("/v1/adapters", form_of(parts), form_type + headers);
}
HttpClient::Answer send_controlnet(const Running& running, const std::string& name) {
  return send(running, {{"name", name},
                        {"file", net("diffusion_pytorch_model.safetensors")},
                        {"config", net("config.json")}});
}
HttpClient::Answer erase(const Running& running, const std::string& name) {
  return running.client().request("DELETE", "/v1/adapters/" + name, "", "");
}

Json asked(const Json& adapters, int64_t steps = 2) {
  return {{"inputs", {{"prompt", "a red apple"}}},
          {"adapters", adapters},
          {"config", {{"seed", 3}, {"num_inference_steps", steps}}}};
}

std::string pixels_in(const Json& base64) {
  return pixels_of(bytes_of_base64(base64.get<std::string>()).value());
}

TEST(Adapters, ALoraThatWasSentIsNamedByRequestsOfEveryRoute) {
  ServerOptions options = tiny();
  options.models.push_back("svd=" + goldens + "videos/svd/model");
  Running running(options);
  const auto sent = send(running, {{"name", "style"}, {"file", lora()}});
  ASSERT_EQ(sent.status, 201) << sent.body;
  EXPECT_EQ(sent.json()["kind"], "lora");
  EXPECT_EQ(sent.json()["models"], Json::array({"tiny"}));  // and not svd
  io::Sha256 digest;
  digest.add(lora());
  EXPECT_EQ(sent.json()["sha256"], digest.hex());
  EXPECT_EQ(running.get("/v1/adapters").json()["adapters"], Json::array({sent.json()}));
  const Json done = running.post("/v1/generate", asked({"style:0.5"})).json();
  ASSERT_EQ(done["state"], "done") << done;
  EXPECT_EQ(done["report"]["adapters"][0]["path"], "style.safetensors");
  EXPECT_EQ(done["request"]["adapters"][0]["path"], "style");
  const std::string pixels = pixels_in(done["artifacts"][0]["data"]);
  const Json openai =
      running
          .post("/v1/images/generations",
                {{"prompt", "a red apple"}, {"seed", 3}, {"steps", 2}, {"adapters", {"style:0.5"}}})
          .json();
  EXPECT_TRUE(pixels_in(openai["data"][0]["b64_json"]) == pixels);
  // Fields that are read after the adapters count, too.
  const Json sized = running
                         .post("/v1/images/generations", {{"prompt", "a red apple"},
                                                          {"steps", 1},
                                                          {"adapters", {"style:0.5"}},
                                                          {"size", "32x64"}})
                         .json();
  EXPECT_EQ(sized["size"], "32x64") << sized;
  const Json webui =
      running
          .post("/sdapi/v1/txt2img",
                {{"prompt", "a red apple<lora:style:0.5>"}, {"seed", 3}, {"steps", 2}})
          .json();
  EXPECT_TRUE(pixels_in(webui["images"][0]) == pixels);
  EXPECT_THAT(running.get("/sdapi/v1/loras").body, HasSubstr("\"style\""));
  for (const char* field : {"adapters", "adapters[]"}) {
    const std::string image = io::encode_image(io::Image::zeros(64, 64, 3), io::ImageFormat::png);
    const auto edited = running.client().post(
        "/v1/images/edits",
        form_of(
            {{"prompt", "a red apple"}, {"image", image}, {"steps", "2"}, {field, "style:0.5"}}),
        form_type);
    EXPECT_EQ(edited.status, 200) << edited.body;
  }
  const Json plain = running.post("/v1/generate", asked(Json::array())).json();
  EXPECT_FALSE(pixels_in(plain["artifacts"][0]["data"]) == pixels);
}

TEST(Adapters, SeveralAtOnceAreThoseOfTheServersFolders) {
  ServerOptions options = tiny();
  options.lora_folders = {goldens + "adapters/files"};
  Running running(options);
  ASSERT_EQ(send(running, {{"name", "one"}, {"file", lora()}}).status, 201);
  ASSERT_EQ(send(running, {{"name", "two"}, {"file", bytes_of("adapters/files/loha.safetensors")}})
                .status,
            201);
  const Json sent = running.post("/v1/generate", asked({"one:0.5", "two:0.7"})).json();
  const Json kept = running.post("/v1/generate", asked({"kohya:0.5", "loha:0.7"})).json();
  EXPECT_TRUE(pixels_in(sent["artifacts"][0]["data"]) == pixels_in(kept["artifacts"][0]["data"]));
  EXPECT_EQ(send(running, {{"name", "kohya"}, {"file", lora()}}).status, 409);
  const std::string all = running.get("/v1/adapters").body;
  EXPECT_THAT(all, HasSubstr(R"({"name":"kohya","uploaded":false})"));
  EXPECT_EQ(erase(running, "kohya").status, 404);
}

TEST(Adapters, AControlNetThatWasSentIsAComponent) {
  Running running(tiny());
  const auto sent = send_controlnet(running, "edges");
  ASSERT_EQ(sent.status, 201) << sent.body;
  EXPECT_EQ(sent.json()["kind"], "controlnet");
  EXPECT_THAT(running.get("/sdapi/v1/loras").body, Not(HasSubstr("edges")));
  Json request = asked(Json::array());
  request["inputs"]["control_image"] = {{"data", base64_of(bytes_of("control/inputs/edges.png"))}};
  request["components"] = {{"controlnet", "edges"}};
  const Json done = running.post("/v1/generate", request).json();
  ASSERT_EQ(done["state"], "done") << done;
  EXPECT_EQ(done["request"]["components"]["controlnet"], "edges");
  EXPECT_THAT(done.dump(), Not(HasSubstr(source_path("").string())));
  for (const Json& other : {Json("none"), Json("../edges"), Json({"edges", "/etc"}), Json(3),
                            Json::array({Json::array({"edges"})})}) {
    request["components"] = {{"controlnet", other}};
    EXPECT_EQ(running.post("/v1/generate", request).status, 422) << other;
  }
}

TEST(Adapters, WhatIsNoneOrFitsNoModelIsRefusedAndLeavesNothing) {
  Running running(tiny());
  auto error = [&](const std::vector<std::pair<std::string, std::string>>& parts) {
    const auto answer = send(running, parts);
    EXPECT_EQ(answer.status, 422) << answer.body;
    return answer.body;
  };
  EXPECT_THAT(error({{"file", lora()}}), HasSubstr("no name of an adapter"));
  for (const char* name : {"", "../x", "a/b", ".x", "a b", "x:1"})
    EXPECT_THAT(error({{"name", name}, {"file", lora()}}), HasSubstr("no name of an adapter"));
  EXPECT_THAT(error({{"name", "x"}}), HasSubstr("is missing"));
  EXPECT_THAT(error({{"name", "x"}, {"file", "PK\x03\x04zip"}}), HasSubstr("pickle"));
  EXPECT_THAT(error({{"name", "x"}, {"file", lora().substr(0, 5000)}}), HasSubstr("file"));
  EXPECT_THAT(error({{"name", "x"}, {"file", lora()}, {"path", "/etc"}}), HasSubstr("unknown"));
  EXPECT_THAT(error({{"name", "x"}, {"file", bytes_of("adapters/files/sdxl_kohya.safetensors")}}),
              HasSubstr("model tiny: "));
  const std::string weights = net("diffusion_pytorch_model.safetensors");
  EXPECT_THAT(error({{"name", "x"}, {"file", weights}}), HasSubstr("no adapter"));
  EXPECT_THAT(error({{"name", "x"}, {"file", weights}, {"config", "{}"}}),
              HasSubstr("is no ControlNet"));
  EXPECT_THAT(
      error(
          {{"name", "x"},
           {"file", bytes_of("control/parts_xl/controlnet_a/diffusion_pytorch_model.safetensors")},
           {"config", bytes_of("control/parts_xl/controlnet_a/config.json")}}),
      HasSubstr("model tiny: "));
  EXPECT_EQ(running.client().post("/v1/adapters", "{}").status, 415);
  EXPECT_EQ(running.get("/v1/adapters").json()["adapters"].size(), 0u);
  EXPECT_EQ(send(running, {{"name", "x"}, {"file", lora()}}).status, 201);
  EXPECT_EQ(send(running, {{"name", "x"}, {"file", lora()}}).status, 409);
  EXPECT_EQ(erase(running, "x").status, 200);
  EXPECT_EQ(erase(running, "x").status, 404);
  EXPECT_EQ(erase(running, "..%2Fabout").status, 404);
  EXPECT_EQ(send(running, {{"name", "x"}, {"file", lora()}}).status, 201);
}

TEST(Adapters, SizesAndTheirNumberAreBounded) {
  ServerOptions options = tiny();
  options.http.body_bytes = 10'000;  // of other routes
  options.adapters = {.upload_bytes = 200'000, .all_bytes = 250'000, .count = 2};
  Running running(options);
  EXPECT_EQ(send(running, {{"name", "x"}, {"file", std::string(300'000, 'x')}}).status, 413);
  EXPECT_EQ(send(running, {{"name", "x"}, {"file", lora()}}).status, 201);
  const auto full = send(running, {{"name", "y"}, {"file", std::string(150'000, 'x')}});
  EXPECT_EQ(full.status, 507) << full.body;
  const std::string small = bytes_of("adapters/files/token.safetensors");
  EXPECT_EQ(send(running, {{"name", "y"}, {"file", small}}).status, 201);
  EXPECT_EQ(send(running, {{"name", "z"}, {"file", small}}).status, 507);
}

TEST(Adapters, AJobKeepsWhatItUsesAlsoOverARestart) {
  Temporary folder;
  ServerOptions options = tiny();
  options.state = folder.path().string();
  std::string first, second;
  {
    Running running(options);
    ASSERT_EQ(send(running, {{"name", "style"}, {"file", lora()}}).status, 201);
    ASSERT_EQ(send_controlnet(running, "edges").status, 201);
    Json request = asked({"style"}, 900);
    request["async"] = true;
    first = running.post("/v1/generate", request).json()["id"];
    request = asked(Json::array(), 900);
    request["async"] = true;
    request["components"] = {{"controlnet", "edges"}};
    request["inputs"]["control_image"] = {
        {"data", base64_of(bytes_of("control/inputs/edges.png"))}};
    second = running.post("/v1/generate", request).json()["id"];
    const auto refused = erase(running, "style");
    EXPECT_EQ(refused.status, 409);
    EXPECT_THAT(refused.body, HasSubstr(first));
  }
  Running running(options);
  EXPECT_EQ(running.get("/v1/adapters").json()["adapters"].size(), 2u);
  EXPECT_EQ(erase(running, "style").status, 409);
  EXPECT_THAT(erase(running, "edges").body, HasSubstr(second));
  for (const std::string& job : {first, second}) {
    running.client().request("DELETE", "/v1/jobs/" + job, "", "");
    running.follow(job);
  }
  EXPECT_EQ(erase(running, "style").status, 200);
  EXPECT_EQ(erase(running, "edges").status, 200);
  EXPECT_EQ(running.post("/v1/generate", asked({"style"})).status, 422);
}

TEST(Adapters, KeysNeedTheirScope) {
  Temporary folder;
  auto entry = [](const std::string& name, const Json& scopes) {
    io::Sha256 digest;
    digest.add(name + "-key");
    return Json{{"name", name}, {"sha256", digest.hex()}, {"scopes", scopes}};
  };
  std::ofstream(folder.path() / "keys.json")
      << Json{{"keys",
               {entry("ann", {"generate"}), entry("bob", {"generate", "adapters"}),
                entry("boss", {"admin"})}}};
  ServerOptions options = tiny();
  options.key_file = (folder.path() / "keys.json").string();
  Running running(options);
  auto as = [](const char* name) { return std::string("X-Api-Key: ") + name + "-key\r\n"; };
  const std::vector<std::pair<std::string, std::string>> form{{"name", "x"}, {"file", lora()}};
  EXPECT_EQ(send(running, form).status, 401);
  EXPECT_EQ(send(running, form, as("ann")).status, 403);
  EXPECT_EQ(send(running, form, as("bob")).status, 201);
  EXPECT_EQ(running.get("/v1/adapters", as("ann")).status, 200);
  EXPECT_EQ(running.client().request("DELETE", "/v1/adapters/x", as("ann"), "").status, 403);
  EXPECT_EQ(running.client().request("DELETE", "/v1/adapters/x", as("boss"), "").status, 200);
}

// As a process leaves it that ends anywhere within an upload or a deletion.
TEST(AdapterStore, RemovesWhatWasNotFinished) {
  Temporary folder;
  const fs::path kept = folder.path() / "adapters";
  const AdapterUpload upload{"style", "weights", ""};
  const auto describe = [](const fs::path&) {
    return Json{{"kind", "lora"}, {"models", {"tiny"}}};
  };
  {
    AdapterStore store(kept, {});
    store.add(upload, 1, describe);
    EXPECT_THROW(store.add(upload, 1, describe), HttpRefusal);
    EXPECT_THROW(store.add({"other", "weights", ""}, 1,
                           [](const fs::path&) -> Json { throw RunFailed("no model takes it"); }),
                 RunFailed);
    EXPECT_TRUE(fs::is_empty(kept / "incoming"));
  }
  io::write_file(kept / "incoming" / "x.body", std::string("half"));
  io::write_file(kept / "about" / "gone.json", std::string(R"({"kind": "lora"})"));
  AdapterStore store(kept, {});
  EXPECT_TRUE(fs::is_empty(kept / "incoming"));
  EXPECT_FALSE(fs::exists(kept / "about" / "gone.json"));
  ASSERT_EQ(store.list().size(), 1u);
  EXPECT_EQ(store.list()[0]["name"], "style");
  EXPECT_EQ(io::read_file(store.loras() / "style.safetensors", 100), "weights");
}

TEST(AdapterStore, WhatIsReceivedCountsUntilItIsGone) {
  Temporary folder;
  AdapterStore store(folder.path() / "adapters", {.upload_bytes = 100, .all_bytes = 150});
  auto body = store.place(100);
  EXPECT_THROW(store.place(100), HttpRefusal);
  EXPECT_THROW(store.place(101), HttpRefusal);
  io::write_file(body->path, std::string("bytes"));
  const fs::path path = body->path;
  body.reset();
  EXPECT_FALSE(fs::exists(path));
  EXPECT_NO_THROW(store.place(100));
}

}  // namespace
}  // namespace omnirt::serve
