#include "serve/broker/portable_request.hpp"

#include <gtest/gtest.h>

#include "serve/request_files.hpp"
#include "serve/run_job.hpp"
#include "serve/temporary.hpp"

namespace omnirt::serve {
namespace {

ServedModels models(const std::string& folder) {
  ServedModels all;
  all.models["red"] = folder + "/red";
  all.first = "red";
  return all;
}

std::string stored(const Json& request) {
  return Json{{"request", request}, {"strict", false}}.dump();
}

TEST(PortableRequest, IsPlacedAgainOnAnotherMachine) {
  GenerateRequest request;
  request.model = "/here/models/red";
  request.inputs = {{"prompt", "/here/jobs/1/input-0.png, as a text"},
                    {"image", "/here/jobs/1/input-0.png"}};
  request.config = {{"seed", 3}, {"output_dir", "/here/jobs/1"}, {"metadata", "short"}};
  std::string name;
  const std::string text = portable_request(job_request_text(request, true), "/here/jobs/1",
                                            models("/here/models"), name);
  EXPECT_EQ(name, "red");
  EXPECT_EQ(text.find("/here/models"), std::string::npos);
  const PlacedRequest placed = place_request(text, "/there/2", models("/there/models"));
  EXPECT_TRUE(placed.strict);
  EXPECT_EQ(placed.request.model, "/there/models/red");
  EXPECT_EQ(placed.request.inputs["image"], "/there/2/input-0.png");
  EXPECT_EQ(placed.request.inputs["prompt"], request.inputs["prompt"]);
  EXPECT_EQ(placed.request.config["output_dir"], "/there/2");
  EXPECT_EQ(placed.request.config["seed"], 3);
}

TEST(PortableRequest, NamesNoPathOfTheMachineThatRunsIt) {
  const Json inputs = {{"prompt", "x"}};
  const std::vector<Json> bad{
      {{"model", "red"}, {"inputs", {{"prompt", "x"}, {"image", "/etc/passwd"}}}},
      {{"model", "red"}, {"inputs", {{"prompt", "x"}, {"images", {"a", "b"}}}}},
      {{"model", "red"}, {"inputs", {{"prompt", "x"}, {"latents", {{"file", "/a"}}}}}},
      {{"model", "red"}, {"inputs", {{"prompt", "x"}, {"image", {{sent_file_key, "../key"}}}}}},
      {{"model", "red"}, {"inputs", {{"prompt", "x"}, {"image", {{sent_file_key, ""}}}}}},
      {{"model", "red"}, {"inputs", {{"prompt", {{sent_file_key, "input-0.png"}}}}}},
      {{"model", "red"}, {"inputs", {{"prompt", {{sent_file_key, {{"a", 1}}}}}}}},
      {{"model", "/there/models/other"}, {"inputs", inputs}},
      {{"model", "red"}, {"inputs", inputs}, {"config", {{"output_dir", "/etc"}}}},
      {{"model", "red"}, {"inputs", inputs}, {"components", {{"vae", "/etc/vae"}}}},
  };
  for (const Json& request : bad)
    EXPECT_THROW(place_request(stored(request), "/there/2", models("/there/models")),
                 InvalidRequest)
        << request;
  for (const char* text : {"", "[]", "{}", R"({"request": 3, "strict": true})"})
    EXPECT_THROW(place_request(text, "/there/2", models("/there/models")), InvalidRequest) << text;
}

}  // namespace
}  // namespace omnirt::serve
