// OpenAI's routes: what its clients send and read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/image.hpp"
#include "serve/base64.hpp"
#include "serve/job_work.hpp"
#include "serve/running_server.hpp"
#include "source_paths.hpp"

namespace omnirt::serve {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* form_type = "Content-Type: multipart/form-data; boundary=xx\r\n";

std::string part(const std::string& name, const std::string& bytes) {
  return "--xx\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + bytes + "\r\n";
}

std::string black_png(int64_t side = 128) {
  return io::encode_image(io::Image::zeros(side, side, 3), io::ImageFormat::png);
}

Json generation(const Json& more = Json::object()) {
  Json json = {{"model", "emoji"}, {"prompt", "a red apple"}, {"seed", 3}, {"steps", 4}};
  json.update(more);
  return json;
}

TEST(OpenAi, AGenerationIsTheSameImage) {
  Running running;
  const auto answer = running.post("/v1/images/generations", generation({{"n", 2}, {"user", "x"}}));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json json = answer.json();
  ASSERT_EQ(json["data"].size(), 2u);
  EXPECT_EQ(json["size"], "128x128");
  auto png = bytes_of_base64(json["data"][0]["b64_json"].get<std::string>());
  EXPECT_TRUE(pixels_of(*png) == pixels_alone(apple(3, {{"num_inference_steps", 4}})));
}

TEST(OpenAi, AStreamHasPartialImagesAndTheWholeOne) {
  Running running;
  HttpClient client = running.client();
  const std::string body = generation({{"stream", true}, {"partial_images", 2}}).dump();
  client.send(
      "POST /v1/images/generations HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Type: application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  const std::string events = client.read_all();
  const size_t first = events.find(R"("partial_image_index":0)");
  const size_t second = events.find(R"("partial_image_index":1)");
  const size_t whole = events.find("event: image_generation.completed");
  ASSERT_NE(whole, std::string::npos) << events.substr(0, 2000);
  EXPECT_LT(first, second);
  EXPECT_LT(second, whole);
  const size_t at = events.find(R"("b64_json":")", whole) + 12;
  auto png = bytes_of_base64(events.substr(at, events.find('"', at) - at));
  ASSERT_TRUE(png);
  EXPECT_TRUE(pixels_of(*png) == pixels_alone(apple(3, {{"num_inference_steps", 4}})));
}

TEST(OpenAi, ErrorsAreThoseThatItsClientsRead) {
  Running running;
  auto answer = running.post(
      "/v1/images/generations",
      generation({{"size", "99999x8"}, {"response_format", "file"}, {"style", "noir"}}));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.json()["error"]["type"], "invalid_request_error");
  EXPECT_THAT(answer.json()["error"]["message"].get<std::string>(),
              AllOf(HasSubstr("response_format"), HasSubstr("style")));
  answer = running.post("/v1/images/generations", generation({{"size", "99999x8"}}));
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("config.width"));
  EXPECT_EQ(running.get("/v1/images/generations").status, 405);
  EXPECT_EQ(running.client().post("/v1/images/edits", "{}", "Content-Type: text/plain\r\n").status,
            415);
}

double mean_of(const std::string& pixels) {
  double sum = 0;
  for (unsigned char each : pixels) sum += each;
  return sum / static_cast<double>(pixels.size());
}

TEST(OpenAi, AnEditChangesWhatIsTransparent) {
  Running running;
  io::Image mask = io::Image::zeros(128, 128, 4);
  for (size_t i = 3; i < mask.pixels.size() / 2; i += 4) mask.pixels[i] = 255;
  const std::string body = part("model", "emoji") + part("prompt", "a green apple") +
                           part("seed", "1") + part("steps", "4") + part("image", black_png()) +
                           part("mask", io::encode_image(mask, io::ImageFormat::png)) +
                           "--xx--\r\n";
  const auto answer = running.client().post("/v1/images/edits", body,
                                            "Content-Type: multipart/form-data; boundary=xx\r\n");
  ASSERT_EQ(answer.status, 200) << answer.body;
  auto png = bytes_of_base64(answer.json()["data"][0]["b64_json"].get<std::string>());
  const std::string pixels = pixels_of(*png);
  // The opaque half is about the image's black, the other is not.
  EXPECT_LT(mean_of(pixels.substr(0, pixels.size() / 4)), 40);
  EXPECT_GT(mean_of(pixels.substr(pixels.size() / 2)), 80);
}

TEST(OpenAi, TheAnswerTellsQualitySizeAndUsage) {
  Running running;
  const Json low = running
                       .post("/v1/images/generations",
                             {{"prompt", "a red  apple"}, {"quality", "low"}, {"seed", 3}})
                       .json();
  EXPECT_EQ(low["quality"], "low") << low;
  EXPECT_EQ(low["background"], "opaque");
  EXPECT_EQ(low["usage"], Json({{"total_tokens", 67},
                                {"input_tokens", 3},
                                {"input_tokens_details", {{"text_tokens", 3}, {"image_tokens", 0}}},
                                {"output_tokens", 64}}));
  const Json jobs = running.get("/v1/jobs").json()["jobs"];
  const Json job = running.get("/v1/jobs/" + jobs[0]["id"].get<std::string>()).json();
  EXPECT_EQ(job["report"]["config_resolved"]["preset"]["value"], "fast");
  EXPECT_EQ(running.post("/v1/images/generations", generation()).json()["quality"], "medium");
  EXPECT_EQ(running.post("/v1/images/generations", generation({{"quality", "best"}})).status, 400);
}

TEST(OpenAi, AnImageMayBeFetchedByItsUrl) {
  Running running;
  const auto answer = running.client().post(
      "/v1/images/generations", generation({{"response_format", "url"}}).dump(),
      "Content-Type: application/json\r\nHost: localhost:1234\r\n");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json image = answer.json()["data"][0];
  EXPECT_FALSE(image.contains("b64_json"));
  const std::string url = image["url"], server = "http://localhost:1234";
  ASSERT_TRUE(url.starts_with(server + "/v1/jobs/")) << url;
  EXPECT_TRUE(pixels_of(running.get(url.substr(server.size())).body) ==
              pixels_alone(apple(3, {{"num_inference_steps", 4}})));
  EXPECT_EQ(running
                .post("/v1/images/generations",
                      generation({{"response_format", "url"}, {"stream", true}}))
                .status,
            400);
}

// The second image is the reference image of our own request.
TEST(OpenAi, SeveralImagesAreReferencesInTheirOrder) {
  ServerOptions options;
  options.models = {"klein=" + source_path("tests/goldens/pipelines/flux2_klein/model").string()};
  Running running(options);
  const std::string small = black_png(64);
  io::Image grey = io::Image::zeros(64, 96, 3);
  std::fill(grey.pixels.begin(), grey.pixels.end(), uint8_t{90});
  const std::string other = io::encode_image(grey, io::ImageFormat::png);
  const std::string fields = part("prompt", "a green apple") + part("seed", "1") +
                             part("steps", "2") + part("size", "64x64");
  auto edit = [&](const std::string& images) {
    return running.client().post("/v1/images/edits", fields + images + "--xx--\r\n", form_type);
  };
  const auto answer = edit(part("image[]", small) + part("image[]", other));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["usage"]["input_tokens_details"]["image_tokens"], 16 + 24);
  const Json ours = {
      {"inputs",
       {{"prompt", "a green apple"},
        {"image", {{"data", base64_of(small)}}},
        {"image_reference", Json::array({{{"data", base64_of(other)}}})}}},
      {"config", {{"seed", 1}, {"num_inference_steps", 2}, {"width", 64}, {"height", 64}}}};
  const Json same = running.post("/v1/generate", ours).json();
  EXPECT_TRUE(
      pixels_of(*bytes_of_base64(answer.json()["data"][0]["b64_json"].get<std::string>())) ==
      pixels_of(*bytes_of_base64(same["artifacts"][0]["data"].get<std::string>())));
  EXPECT_EQ(edit("").status, 400);
  // Names that are repeated make a list (RFC 7578, 4.3), and so do indices, in their order.
  for (const std::string& images : {part("image", small) + part("image", other),
                                    part("image[1]", other) + part("image[0]", small)}) {
    const Json made = edit(images).json();
    ASSERT_TRUE(made.contains("data")) << made;
    EXPECT_EQ(made["data"][0]["b64_json"], answer.json()["data"][0]["b64_json"]);
  }
}

struct Videos {
  Videos() : running(options()) {}
  static ServerOptions options() {
    ServerOptions made;
    made.models = {"svd=" + source_path("tests/goldens/videos/svd/model").string(),
                   "emoji=" + source_path("models/emoji").string()};
    return made;
  }
  HttpClient::Answer create(const std::string& more) const {
    const std::string body = part("prompt", "") + part("steps", "1") + part("size", "64x64") +
                             part("seed", "3") + more + "--xx--\r\n";
    return running.client().post("/v1/videos", body, form_type);
  }
  Json wait(const std::string& id) const {
    running.follow(id);
    return running.get("/v1/videos/" + id).json();
  }
  Running running;
};

TEST(OpenAiVideos, AVideoIsMadeListedFetchedAndDeleted) {
  Videos videos;
  const auto created = videos.create(part("input_reference", black_png(64)) + part("seconds", "1") +
                                     part("fps", "3"));
  ASSERT_EQ(created.status, 200) << created.body;
  Json video = created.json();
  EXPECT_EQ(video["object"], "video");
  EXPECT_EQ(video["size"], "64x64");
  EXPECT_EQ(video["seconds"], "1");
  const std::string id = video["id"], path = "/v1/videos/" + id;
  video = videos.wait(id);
  ASSERT_EQ(video["status"], "completed") << video;
  EXPECT_EQ(video["progress"], 100);
  EXPECT_EQ(video["expires_at"].get<int64_t>(), video["completed_at"].get<int64_t>() + 24 * 3600);
  const auto content = videos.running.get(path + "/content");
  EXPECT_EQ(content.status, 200);
  EXPECT_THAT(content.headers, HasSubstr("Content-Type: video/mp4"));
  EXPECT_EQ(content.body.substr(4, 4), "ftyp");
  EXPECT_EQ(videos.running.get(path + "/content?variant=thumbnail").status, 400);
  EXPECT_EQ(videos.running.get("/v1/jobs/" + id)
                .json()["report"]["config_resolved"]["num_frames"]["value"],
            3);
  // The image that another job makes is no video.
  const Json image = videos.running.post("/v1/generate", apple()).json();
  EXPECT_EQ(videos.running.get("/v1/videos/" + image["id"].get<std::string>()).status, 404);
  const Json list = videos.running.get("/v1/videos").json();
  ASSERT_EQ(list["data"].size(), 1u);
  EXPECT_EQ(list["first_id"], id);
  EXPECT_EQ(list["has_more"], false);
  EXPECT_EQ(videos.running.get("/v1/videos?after=" + id).json()["data"].size(), 0u);
  EXPECT_EQ(videos.running.get("/v1/videos?after=nothing").status, 400);
  EXPECT_EQ(videos.running.get("/v1/videos?limit=101").status, 400);
  const auto deleted = videos.running.client().request("DELETE", path, "", "");
  EXPECT_EQ(deleted.json(), Json({{"id", id}, {"object", "video.deleted"}, {"deleted", true}}));
  EXPECT_EQ(videos.running.get(path).status, 404);
  EXPECT_EQ(videos.running.get("/v1/jobs/" + id).status, 404);
}

TEST(OpenAiVideos, OneThatIsBeingMadeIsCancelledAndForgotten) {
  Videos videos;
  const Json request = {
      {"input_reference", {{"image_url", "data:image/png;base64," + base64_of(black_png(64))}}},
      {"size", "64x64"},
      {"steps", 1000}};
  const Json video = videos.running.post("/v1/videos", request).json();
  const std::string path = "/v1/videos/" + video["id"].get<std::string>();
  EXPECT_EQ(videos.running.get(path + "/content").status, 404);
  EXPECT_EQ(videos.running.client().request("DELETE", path, "", "").json()["deleted"], true);
  EXPECT_EQ(videos.running.get(path).status, 404);
}

TEST(OpenAiVideos, WhatAModelHasNoUseForIsRefused) {
  Videos videos;
  const std::string image = part("input_reference", black_png(64));
  EXPECT_EQ(videos.create("").status, 400);  // no image
  EXPECT_THAT(videos.create(image + part("model", "emoji")).body, HasSubstr("makes no videos"));
  EXPECT_EQ(videos.create(image + part("seconds", "1000")).status, 400);
  EXPECT_EQ(videos.create(image + part("remix", "x")).status, 400);
  const Json prompted = {{"prompt", "a dog"},
                         {"input_reference", "data:image/png;base64," + base64_of(black_png(64))}};
  const auto answer = videos.running.post("/v1/videos", prompted);
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("prompt"));
}

TEST(JobWork, IsReadAsItIsWritten) {
  const JobWork work{"a|b", "image2video", 64, 32, 2, 14, 7};
  const auto read = JobWork::read(work.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->text(), work.text());
  EXPECT_EQ(read->model, "a|b");
  EXPECT_TRUE(read->is_video());
  for (const char* bad : {"", "|", "a|b", "a|b|1x2", "a|b|1x2x3x4xz", "a|b|1x2x3x4x5x6"})
    EXPECT_FALSE(JobWork::read(bad)) << bad;
}

}  // namespace
}  // namespace omnirt::serve
