// The document of all routes is held against the routes: what it says is what is answered.
#include "serve/openapi.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "io/file.hpp"
#include "io/image.hpp"
#include "io/sha256.hpp"
#include "serve/base64.hpp"
#include "serve/json_schema.hpp"
#include "serve/running_server.hpp"
#include "serve/temporary.hpp"
#include "serve/webui_fields.hpp"
#include "source_paths.hpp"

namespace omnirt::serve {
namespace {
using ::testing::IsEmpty;

std::string image_bytes() {
  return io::encode_image(io::Image::zeros(128, 128, 4), io::ImageFormat::png);
}

constexpr const char* json_type = "Content-Type: application/json\r\n";

std::string in_small_letters(std::string text) {
  for (char& each : text) each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  return text;
}

std::string type_of(const HttpClient::Answer& answer) {
  std::smatch found;
  const std::regex header("\r\nContent-Type: ([^;\r]*)");
  return std::regex_search(answer.headers, found, header) ? found[1].str() : "";
}

// A server with its document, against which each answer is held.
class Described {
 public:
  explicit Described(const ServerOptions& options = {}, std::string headers = "")
      : running(options), headers_(std::move(headers)) {
    document = running.get("/openapi.json", headers_).json();
  }

  // The answer to a request of `route` ("/v1/jobs/{id}"), which goes to `path`.
  HttpClient::Answer ask(const std::string& method, const std::string& route,
                         const std::string& path, const std::string& headers = "",
                         const std::string& body = "") {
    const std::string small = in_small_letters(method);
    asked.insert(small + " " + route);
    HttpClient client = running.client();
    HttpClient::Answer answer = client.request(method, path, headers + headers_, body);
    if (type_of(answer) == "text/event-stream") client.read_all();
    if (!document["paths"].contains(route) || !document["paths"][route].contains(small)) {
      ADD_FAILURE() << method << " " << route << " is not described";
      return answer;
    }
    hold(answer, document["paths"][route][small]["responses"], method + " " + path);
    return answer;
  }
  HttpClient::Answer get(const std::string& route, const std::string& path = "") {
    return ask("GET", route, path.empty() ? route : path);
  }
  HttpClient::Answer post(const std::string& route, const Json& body) {
    return ask("POST", route, route, json_type, body.dump());
  }

  Running running;
  Json document;
  std::set<std::string> asked;

 private:
  // The type as it is, or by what stands before its slash.
  static const Json* described_type(const Json& content, const std::string& type) {
    for (const std::string& each : {type, type.substr(0, type.find('/')) + "/*"}) {
      if (content.contains(each)) return &content[each];
    }
    return nullptr;
  }

  void hold(const HttpClient::Answer& answer, const Json& responses, const std::string& what) {
    const std::string status = std::to_string(answer.status);
    ASSERT_TRUE(responses.contains(status)) << what << ": " << status << " " << answer.body;
    const std::string type = type_of(answer);
    if (type.empty()) return;
    const Json* described = described_type(responses[status]["content"], type);
    ASSERT_TRUE(described) << what << ": " << status << " " << type;
    if (!described->contains("schema")) return;
    EXPECT_THAT(schema_errors(answer.json(), (*described)["schema"], document), IsEmpty())
        << what << ": " << status;
  }

  std::string headers_;
};

void each_operation(const Json& document,
                    const std::function<void(const std::string&, const Json&)>& see) {
  for (const auto& [path, operations] : document["paths"].items()) {
    for (const auto& [method, operation] : operations.items()) see(method + " " + path, operation);
  }
}

void each_reference(const Json& json, const std::function<void(const std::string&)>& see) {
  if (json.is_object() && json.contains("$ref") && json["$ref"].is_string())
    see(json["$ref"].get<std::string>());
  if (json.is_structured()) {
    for (const Json& each : json) each_reference(each, see);
  }
}

TEST(OpenApi, HasEachRouteOnceAndNoOther) {
  Running running;
  const Json document = running.get("/openapi.json").json();
  EXPECT_EQ(document["openapi"], "3.1.0");
  std::set<std::string> described, served, ids;
  each_operation(document, [&](const std::string& name, const Json& operation) {
    described.insert(name);
    EXPECT_TRUE(ids.insert(operation["operationId"].get<std::string>()).second) << name;
  });
  for (const RouteInfo& route : Api::route_infos())
    served.insert(in_small_letters(route.method) + " " + route.path);
  EXPECT_EQ(described, served);
  each_reference(document, [&](const std::string& reference) {
    EXPECT_FALSE(at_reference(document, reference).is_null()) << reference;
  });
}

TEST(OpenApi, SaysHowEachRouteAnswers) {
  ServerOptions options;
  options.models = {"emoji=" + source_path("models/emoji").string(),
                    "emoji-sd=" + source_path("models/emoji-sd").string(),
                    "svd=" + source_path("tests/goldens/videos/svd/model").string(),
                    "tiny=" + source_path("tests/goldens/pipelines/sd15/model").string()};
  Described server(options);
  for (const char* path : {"/healthz", "/readyz", "/", "/metrics", "/openapi.json", "/v1/models",
                           "/v1/jobs", "/sdapi/v1/progress", "/sdapi/v1/options"})
    EXPECT_EQ(server.get(path).status, 200) << path;
  server.get("/page/{file}", "/page/app.js");
  server.get("/v1/models/{id}", "/v1/models/emoji");
  EXPECT_EQ(server.get("/v1/stream").status, 426);
  const std::string image = base64_of(image_bytes());
  const Json done = server.post("/v1/generate", apple()).json();
  server.ask("POST", "/v1/generate", "/v1/generate",
             std::string(json_type) + "Accept: image/png\r\n", apple().dump());
  server.ask("POST", "/v1/generate", "/v1/generate", form_type,
             form_of({{"request", apple().dump()}}));
  Json later = apple();
  later["async"] = true;
  EXPECT_EQ(server.post("/v1/generate", later).status, 202);
  server.post("/v1/validate", apple());
  const std::string job = "/v1/jobs/" + done["id"].get<std::string>();
  server.get("/v1/jobs/{id}", job);
  server.get("/v1/jobs/{id}/events", job + "/events");
  server.ask("GET", "/v1/jobs/{id}/events", job + "/events", "Last-Event-ID: 1999999\r\n");
  server.get("/v1/jobs/{id}/artifacts/{number}", job + "/artifacts/0");
  for (const char* header :
       {"Range: bytes=0-9\r\n", "Range: bytes=99999999-\r\n", "If-None-Match: *\r\n"})
    server.ask("GET", "/v1/jobs/{id}/artifacts/{number}", job + "/artifacts/0", header);
  server.ask("DELETE", "/v1/jobs/{id}", job);
  const Json openai = {{"prompt", "a red apple"}, {"steps", 2}};
  EXPECT_EQ(server.post("/v1/images/generations", openai).status, 200);
  EXPECT_EQ(server
                .ask("POST", "/v1/images/edits", "/v1/images/edits", form_type,
                     form_of({{"prompt", "a red apple"},
                              {"model", "emoji-sd"},
                              {"steps", "2"},
                              {"image", image_bytes()}}))
                .status,
            200);
  const std::string lora = io::read_file(
      source_path("tests/goldens/adapters/files/kohya.safetensors").string(), size_t{1} << 20);
  EXPECT_EQ(server
                .ask("POST", "/v1/adapters", "/v1/adapters", form_type,
                     form_of({{"name", "style"}, {"file", lora}}))
                .status,
            201);
  EXPECT_EQ(server.get("/v1/adapters").json()["adapters"].size(), 1u);
  EXPECT_EQ(server.ask("DELETE", "/v1/adapters/{name}", "/v1/adapters/style").status, 200);
  const std::string sent = "data:image/png;base64," + image;
  const Json wanted = {
      {"model", "svd"}, {"input_reference", sent}, {"size", "64x64"}, {"steps", 1}};
  const Json video = server.post("/v1/videos", wanted).json();
  const std::string made = "/v1/videos/" + video["id"].get<std::string>();
  server.running.follow(video["id"].get<std::string>());
  EXPECT_EQ(server.get("/v1/videos").status, 200);
  EXPECT_EQ(server.get("/v1/videos/{id}", made).status, 200);
  EXPECT_EQ(server.get("/v1/videos/{id}/content", made + "/content").status, 200);
  EXPECT_EQ(server.ask("DELETE", "/v1/videos/{id}", made).status, 200);
  const Json webui = {{"prompt", "a red apple"}, {"steps", 2}};
  EXPECT_EQ(server.post("/sdapi/v1/txt2img", webui).status, 200);
  Json from_image = webui;
  from_image["init_images"] = Json::array({image});
  from_image["override_settings"]["sd_model_checkpoint"] = "emoji-sd";
  EXPECT_EQ(server.post("/sdapi/v1/img2img", from_image).status, 200);
  server.post("/sdapi/v1/options", {{"sd_model_checkpoint", "emoji-sd"}});
  server.post("/sdapi/v1/png-info", {{"image", image}});
  each_operation(server.document, [&](const std::string& name, const Json& operation) {
    const bool bare = !operation.contains("requestBody") && !operation.contains("parameters");
    const std::string path = name.substr(name.find('/'));
    if (!path.starts_with("/sdapi/v1/") || server.asked.contains(name) || !bare) return;
    EXPECT_EQ(server.ask(name.starts_with("get") ? "GET" : "POST", path, path).status, 200) << name;
  });
  each_operation(server.document, [&](const std::string& name, const Json&) {
    EXPECT_TRUE(server.asked.contains(name)) << name << " is held against nothing";
  });
}

TEST(OpenApi, SaysHowEachRouteRefuses) {
  ServerOptions options;
  options.http.body_bytes = 100'000;
  Described server(options);
  for (const auto& [path, operations] : server.document["paths"].items()) {
    for (const auto& [method, operation] : operations.items()) {
      const std::string name = method == "get" ? "GET" : method == "post" ? "POST" : "DELETE";
      std::string real = std::regex_replace(path, std::regex("\\{[a-z]+\\}"), "nothing");
      server.ask(name, path, real, "Host: elsewhere.example\r\n");
      server.ask(name, path, real, "Origin: http://elsewhere.example\r\n");
      server.ask(name, path, real, "X-Long: " + std::string(40'000, 'x') + "\r\n");
      if (operation.contains("parameters")) {
        server.ask(name, path, real + "?limit=0&skip_current_image=2");
      }
      if (!operation.contains("requestBody")) continue;
      for (const char* body : {"{", "[]", "{}", R"({"unknown": 1, "config": {"width": 3}})"})
        server.ask(name, path, real, json_type, body);
      server.ask(name, path, real, "Content-Type: text/plain\r\n", "{}");
      server.ask(name, path, real, form_type, form_of({{"x", "y"}}));
      server.ask(name, path, real, json_type, std::string(200'000, ' '));
      server.ask(name, path, real, "Transfer-Encoding: chunked\r\n");
    }
  }
}

TEST(OpenApi, AsksForAKeyWhereTheServerDoes) {
  Temporary folder;
  io::Sha256 digest;
  digest.add("boss-key");
  const Json file = {
      {"keys", {{{"name", "boss"}, {"sha256", digest.hex()}, {"scopes", {"admin"}}}}}};
  io::write_file(folder.path() / "keys.json", file.dump());
  ServerOptions options;
  options.key_file = (folder.path() / "keys.json").string();
  Described server(options, "X-Api-Key: boss-key\r\n");
  each_operation(server.document, [&](const std::string& name, const Json& operation) {
    const std::string path = name.substr(name.find('/'));
    const std::string method = name.starts_with("get")    ? "GET"
                               : name.starts_with("post") ? "POST"
                                                          : "DELETE";
    const int status = server.running.client().request(method, path, "", "").status;
    EXPECT_EQ(operation.contains("security"), status == 401) << name << " " << status;
    EXPECT_EQ(operation["responses"].contains("401"), status == 401) << name;
  });
  EXPECT_EQ(server.get("/v1/models").status, 200);
}

// Whether schema and check agree on a value of a key.
void expect_same(const KeyInfo& key, const Json& value) {
  std::vector<Finding> findings;
  Json checked = value;
  const bool taken = check_value(key, "x", checked, findings);
  const auto errors = schema_errors(value, openapi_of_key(key), Json::object());
  EXPECT_EQ(errors.empty(), taken)
      << key.name << " = " << value << " " << ::testing::PrintToString(errors);
}

TEST(OpenApi, ConfigKeysHaveTheLimitsThatTheyAreCheckedBy) {
  const std::vector<Json> samples{true,  0,   1,  2.0,           0.5,    -2,    1e9,
                                  1e300, "x", "", Json::array(), {1, 2}, {0.5}, Json::object()};
  for (const KeyInfo* key : test_session().keys()) {
    const std::string name = key->name;
    // Some of their values are not served, or settled before they are checked.
    if (name == "preview_decoder" || name == "hires_upscaler" || name == "metadata" ||
        name == "output_format" || name == "seed")
      continue;
    for (const Json& sample : samples) expect_same(*key, sample);
    for (const std::string& choice : key->choice_list()) expect_same(*key, choice);
    for (double edge : {key->min, key->max}) {
      if (!std::isfinite(edge)) continue;
      expect_same(*key, edge);
      expect_same(*key, edge - 1);
      expect_same(*key, edge + 1);
    }
  }
}

TEST(OpenApi, DescribesRequestsAsTheyAreRead) {
  Running running;
  const Json document = running.get("/openapi.json").json();
  const Json schema = at_reference(document, "#/components/schemas/GenerateRequest");
  auto expect_both = [&](const Json& request, bool good) {
    EXPECT_EQ(schema_errors(request, schema, document).empty(), good) << request;
    EXPECT_EQ(running.post("/v1/validate", request).status == 200, good) << request;
  };
  expect_both(apple(), true);
  for (const auto& [field, good, bad] : std::vector<std::tuple<const char*, Json, Json>>{
           {"async", false, 1},
           {"strict", nullptr, "no"},
           {"priority", "low", "highest"},
           {"deadline_ms", 100'000, 0},
           {"model", "", "none"},
           {"task", "text2image", 3},
           {"backend", "cpu", 3},
           {"guider", Json::object(), 3},
           {"components", Json::object(), {{"vae", "x"}}},
           {"adapters", Json::array(), 3},
           {"components", nullptr, {{"controlnet", 3}}},
           {"config", Json::object(), {{"output", "x"}}},
           {"unknown_config", nullptr, 1}}) {
    Json request = apple();
    if (std::string(field) != "unknown_config") {
      request[field] = good;
      expect_both(request, true);
    }
    request[field] = bad;
    expect_both(request, false);
  }
  for (const auto& [input, bad] : std::vector<std::pair<const char*, Json>>{
           {"prompt", 3}, {"image", "in.png"}, {"image", {{"path", "in.png"}}}, {"nothing", "x"}}) {
    Json request = apple();
    request["inputs"][input] = bad;
    expect_both(request, false);
  }
}

TEST(OpenApi, HasTheFieldsOfWebuisRequests) {
  Running running;
  const Json document = running.get("/openapi.json").json();
  for (const auto& [name, of] : {std::pair{"WebuiTextToImage", &WebuiField::text2image},
                                 std::pair{"WebuiImageToImage", &WebuiField::image2image}}) {
    const Json& fields = document["components"]["schemas"][name]["properties"];
    for (const WebuiField& field : webui_fields())
      EXPECT_EQ(fields.contains(std::string(field.name)), field.*of) << name << " " << field.name;
  }
}

}  // namespace
}  // namespace omnirt::serve
