// The web page: its files, and the routes that it is made from. tools/page/check.py drives it in a
// browser.
#include "serve/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "catalogue/make_session.hpp"
#include "serve/http_client.hpp"
#include "serve/server.hpp"
#include "source_paths.hpp"

namespace omnirt::serve {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;

std::string header_of(const HttpResponse& response, const std::string& name) {
  for (const auto& [key, value] : response.headers)
    if (key == name) return value;
  return "";
}

TEST(Page, ItsFilesAreInTheProgramAndNoOthers) {
  EXPECT_THAT(page_of("/")->body, HasSubstr("<title>OmniRT</title>"));
  for (const char* name :
       {"style.css", "adapters.js", "app.js", "form.js", "mask.js", "server.js"}) {
    auto file = page_of(std::string("/page/") + name);
    ASSERT_TRUE(file) << name;
    EXPECT_GT(file->body.size(), 500U) << name;
    EXPECT_THAT(header_of(*file, "Content-Security-Policy"), HasSubstr("default-src 'self'"));
  }
  EXPECT_EQ(page_of("/page/app.js")->type, "text/javascript; charset=utf-8");
  for (const char* path :
       {"/page", "/page/", "/page/none.js", "/page/../index.html", "/index.html"})
    EXPECT_FALSE(page_of(path)) << path;
}

// What it loads is the server's own: nothing is asked of others.
TEST(Page, AsksNoOtherServer) {
  for (const char* path : {"/", "/page/style.css", "/page/adapters.js", "/page/app.js",
                           "/page/form.js", "/page/mask.js", "/page/server.js"}) {
    EXPECT_THAT(page_of(path)->body, Not(HasSubstr("//cdn"))) << path;
    EXPECT_THAT(page_of(path)->body, Not(HasSubstr("https:"))) << path;
  }
}

class PageRoutes : public ::testing::Test {
 protected:
  static ServerOptions options() {
    ServerOptions options;
    options.port = 0;
    options.models = {"flat=" + source_path("models/emoji").string()};
    return options;
  }
  void SetUp() override {
    spdlog::set_level(spdlog::level::err);
    server_.start();
  }
  HttpClient::Answer get(const std::string& path) { return HttpClient(server_.port()).get(path); }

  std::unique_ptr<Session> session_ = make_session();
  Server server_{*session_, options()};
};

TEST_F(PageRoutes, AModelSaysWhatItsTasksTake) {
  auto answer = get("/v1/models/flat");
  ASSERT_EQ(answer.status, 200) << answer.body;
  Json described = answer.json();
  EXPECT_EQ(described["id"], "flat");
  EXPECT_GT(described["things"].size(), 100U);
  EXPECT_THAT(answer.body, Not(HasSubstr(source_path("").string())));
  bool has_width = false;
  for (const Json& key : described["tasks"][0]["keys"]) has_width |= key["name"] == "width";
  EXPECT_TRUE(has_width);
  EXPECT_EQ(get("/v1/models/none").status, 404);
  EXPECT_EQ(get("/v1/models/..%2F..%2Fetc").status, 404);
  EXPECT_THAT(get("/").headers, HasSubstr("text/html"));
}

// So that a client can send it again.
TEST_F(PageRoutes, AJobHasItsRequestWithoutPaths) {
  const Json request = {{"model", "flat"},
                        {"inputs", {{"prompt", "a red apple"}}},
                        {"config", {{"seed", 3}, {"num_inference_steps", 2}}}};
  auto made = HttpClient(server_.port()).post("/v1/generate", request.dump());
  ASSERT_EQ(made.status, 200) << made.body;
  auto answer = get("/v1/jobs/" + made.json()["id"].get<std::string>());
  Json kept = answer.json()["request"];
  EXPECT_EQ(kept["inputs"]["prompt"], "a red apple");
  EXPECT_EQ(kept["config"]["num_inference_steps"], 2);
  EXPECT_FALSE(kept["config"].contains("output_dir"));
  EXPECT_THAT(answer.body, Not(HasSubstr(source_path("").string())));
}

}  // namespace
}  // namespace omnirt::serve
