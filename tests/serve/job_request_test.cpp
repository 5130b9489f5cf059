#include "serve/job_request.hpp"

#include <gtest/gtest.h>

#include "serve/request_files.hpp"
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

TEST(JobRequest, IsPlacedOnTheMachineThatRunsIt) {
  ServedRequest served;
  served.strict = true;
  served.request.model = "red";
  served.request.inputs = {{"prompt", "/here/jobs/1/input-0.png, as a text"},
                           {"image", {{sent_file_key, "input-0.png"}}},
                           {"images", {{{sent_file_key, "input-1.png"}}}}};
  served.request.config = {{"seed", 3}, {"preview_every", 2}};
  const std::string text = job_request_text(served, "00-1-2-01");
  const PlacedRequest placed = place_request(text, "/there/2", models("/there/models"));
  EXPECT_TRUE(placed.strict);
  EXPECT_EQ(placed.model, "red");
  EXPECT_EQ(placed.traceparent, "00-1-2-01");
  const GenerateRequest& request = placed.request;
  EXPECT_EQ(request.path_of("model", request.model), "/there/models/red");
  EXPECT_EQ(request.inputs["image"], "input-0.png");
  EXPECT_EQ(request.path_of("inputs.image", "input-0.png"), "/there/2/input-0.png");
  EXPECT_EQ(request.path_of("inputs.images[0]", request.inputs["images"][0]),
            "/there/2/input-1.png");
  EXPECT_EQ(request.inputs["prompt"], served.request.inputs["prompt"]);
  EXPECT_EQ(request.config["output_dir"], "/there/2");
  EXPECT_EQ(request.config["preview_dir"], "/there/2");
  EXPECT_EQ(request.config["seed"], 3);
  // What is no path of the machine's names none in the request's text.
  Json written = request.to_json();
  written["config"].erase("output_dir");
  written["config"].erase("preview_dir");
  EXPECT_EQ(written.dump().find("/there"), std::string::npos);
}

// The id of a registered model is the engine's own name for it, and no path.
TEST(JobRequest, AModelMayBeAnId) {
  ServedModels all;
  all.models["red"] = "some-id";
  all.first = "red";
  ServedRequest served;
  served.request.inputs = {{"prompt", "x"}};
  const PlacedRequest placed = place_request(job_request_text(served), "/there/2", all);
  EXPECT_EQ(placed.model, "red");
  EXPECT_EQ(placed.request.model, "some-id");
  EXPECT_TRUE(placed.request.locations.empty());
}

TEST(JobRequest, NamesNoPathOfTheMachineThatRunsIt) {
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
