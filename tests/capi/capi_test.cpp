// The functions of omnirt.h, as any language may call them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <utility>

#include "base/json.hpp"
#include "capi/omnirt.h"
#include "io/image.hpp"
#include "io/temp_folder.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::StrEq;

// One session for all tests, so that the model is loaded once.
omnirt_session* session() {
  static omnirt_session* made = [] {
    omnirt_session* made = nullptr;
    EXPECT_EQ(omnirt_session_create(&made), OMNIRT_OK);
    return made;
  }();
  return made;
}

Json apple() {
  return {{"model", "emoji-sd"},
          {"inputs", {{"prompt", "a red apple"}}},
          {"config", {{"seed", 5}, {"num_inference_steps", 2}}}};
}

struct Ran {
  omnirt_status status = OMNIRT_OK;
  std::string error;
  Json report;
  std::vector<io::Image> images;
};

Ran run(const Json& request, unsigned flags = 0, omnirt_on_progress on_progress = nullptr,
        void* user = nullptr) {
  Ran ran;
  omnirt_result* result = nullptr;
  ran.status = omnirt_run(session(), request.dump().c_str(), flags, on_progress, user, &result);
  ran.error = omnirt_last_error();
  if (!result) return ran;
  ran.report = Json::parse(omnirt_result_report(result));
  for (size_t i = 0; i < omnirt_result_count(result); ++i) {
    for (size_t frame = 0; frame < omnirt_result_frames(result, i); ++frame) {
      omnirt_image image;
      EXPECT_EQ(omnirt_result_image(result, i, frame, &image), OMNIRT_OK);
      size_t bytes = size_t{image.width} * image.height * image.channels;
      ran.images.push_back({image.width, image.height, image.channels,
                            std::vector<uint8_t>(image.pixels, image.pixels + bytes)});
    }
  }
  omnirt_result_destroy(result);
  return ran;
}

Json findings_of(const std::string& request, omnirt_status expected, unsigned flags = 0) {
  char* text = nullptr;
  EXPECT_EQ(omnirt_validate(session(), request.c_str(), flags, &text), expected);
  Json findings = Json::parse(text);
  omnirt_text_destroy(text);
  return findings;
}

// What on_progress of a run can reach.
struct Handles {
  omnirt_session* session = nullptr;
  omnirt_result* result = nullptr;
  size_t calls = 0;
};

int destroy_all(const omnirt_progress*, void* user) {
  auto& handles = *static_cast<Handles*>(user);
  ++handles.calls;
  omnirt_session_destroy(std::exchange(handles.session, nullptr));
  omnirt_result_destroy(std::exchange(handles.result, nullptr));
  return 0;
}

TEST(CApi, OnProgressMayDestroyTheSession) {
  Handles handles;
  ASSERT_EQ(omnirt_session_create(&handles.session), OMNIRT_OK);
  EXPECT_EQ(omnirt_run(handles.session, apple().dump().c_str(), 0, destroy_all, &handles,
                       &handles.result),
            OMNIRT_OK)
      << omnirt_last_error();
  EXPECT_EQ(handles.session, nullptr);
  EXPECT_GT(handles.calls, 2U);
  EXPECT_EQ(omnirt_result_count(handles.result), 1U);
  omnirt_result_destroy(handles.result);
}

TEST(CApi, GivesThePixelsOfTheFileThatItWrites) {
  TempFolder folder;
  Json request = apple();
  request["config"]["num_images_per_prompt"] = 2;
  request["config"]["output"] = (folder.path() / "apple.png").string();
  Ran ran = run(request, OMNIRT_STRICT);
  ASSERT_EQ(ran.status, OMNIRT_OK) << ran.error;
  EXPECT_EQ(ran.error, "");
  ASSERT_EQ(ran.images.size(), 2);
  for (size_t i = 0; i < 2; ++i) {
    fs::path file = ran.report["artifacts"][i]["path"].get<std::string>();
    EXPECT_EQ(ran.images[i], io::read_image(file));
  }
}

TEST(CApi, WritesNoFileWhereTheRequestNamesNone) {
  fs::path before = fs::current_path();
  TempFolder folder;
  fs::current_path(folder.path());
  Ran ran = run(apple());
  fs::current_path(before);
  ASSERT_EQ(ran.status, OMNIRT_OK) << ran.error;
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_EQ(ran.report["artifacts"][0]["path"], "");
  ASSERT_EQ(ran.images.size(), 1);
  EXPECT_EQ(ran.images[0].channels, 3);
}

struct Watched {
  std::vector<std::string> stages{};
  std::vector<uint64_t> steps{};
  uint64_t of = 0;
  uint64_t cancel_after = 100;
};

int watch(const omnirt_progress* progress, void* user) {
  auto& watched = *static_cast<Watched*>(user);
  if (watched.stages.empty() || watched.stages.back() != progress->stage)
    watched.stages.emplace_back(progress->stage);
  if (progress->steps == 0) return 0;
  watched.steps.push_back(progress->step);
  watched.of = progress->steps;
  return progress->step >= watched.cancel_after;
}

TEST(CApi, TellsEveryStageAndStep) {
  Watched watched;
  ASSERT_EQ(run(apple(), 0, watch, &watched).status, OMNIRT_OK);
  EXPECT_THAT(watched.stages, ElementsAre("prepare_conditions", "prepare_latents", "denoise_loop",
                                          "decode", "export"));
  EXPECT_THAT(watched.steps, ElementsAre(1, 2));
  EXPECT_EQ(watched.of, 2);
}

TEST(CApi, CancelsARunWhoseCallbackAsksForIt) {
  Watched watched{.cancel_after = 1};
  Ran ran = run(apple(), 0, watch, &watched);
  EXPECT_EQ(ran.status, OMNIRT_CANCELLED);
  EXPECT_EQ(ran.error, "the run was cancelled");
  EXPECT_EQ(ran.report["error"]["kind"], "Cancelled");
  EXPECT_TRUE(ran.images.empty());
  EXPECT_THAT(watched.steps, ElementsAre(1));
}

TEST(CApi, ValidationSettlesEveryValue) {
  Json findings = findings_of(apple().dump(), OMNIRT_OK);
  EXPECT_EQ(findings["ok"], true);
  EXPECT_EQ(findings["task"], "text2image");
  EXPECT_EQ(findings["config"]["num_inference_steps"]["value"], 2);
  EXPECT_EQ(findings["errors"], Json::array());
}

TEST(CApi, ARefusedRequestHasItsFindingsFromValidationAndFromARun) {
  Json request = apple();
  request["config"]["num_inference_steps"] = 4000;
  Json findings = findings_of(request.dump(), OMNIRT_BAD_REQUEST);
  EXPECT_EQ(findings["ok"], false);
  EXPECT_EQ(findings["errors"][0]["field"], "config.num_inference_steps");
  EXPECT_THAT(omnirt_last_error(), StartsWith("config.num_inference_steps = 4000: "));
  Ran ran = run(request);
  EXPECT_EQ(ran.status, OMNIRT_BAD_REQUEST);
  EXPECT_EQ(ran.error, omnirt_last_error());
  EXPECT_EQ(ran.report["error"]["findings"], findings["errors"]);
}

TEST(CApi, WarningsAreErrorsWhereTheFlagSaysSo) {
  Json request = apple();
  request["config"]["stepps"] = 3;
  EXPECT_EQ(findings_of(request.dump(), OMNIRT_OK)["warnings"].size(), 1);
  EXPECT_EQ(findings_of(request.dump(), OMNIRT_BAD_REQUEST, OMNIRT_STRICT)["errors"].size(), 1);
}

TEST(CApi, TextThatIsNoRequestIsRefusedWithoutAResult) {
  for (const std::string& text :
       {std::string("{"), std::string(""), std::string("[1]"), std::string("{\"modell\": \"x\"}"),
        std::string("{\"model\": \"\xff\"}"), std::string(200, '['),
        "{\"model\": \"" + std::string(size_t{4} << 20, 'x') + "\"}"}) {
    EXPECT_EQ(findings_of(text, OMNIRT_BAD_REQUEST)["ok"], false) << text.substr(0, 40);
    auto* result = reinterpret_cast<omnirt_result*>(1);
    EXPECT_EQ(omnirt_run(session(), text.c_str(), 0, nullptr, nullptr, &result),
              OMNIRT_BAD_REQUEST);
    EXPECT_EQ(result, nullptr);
    EXPECT_THAT(omnirt_last_error(), Not(StrEq("")));
  }
}

TEST(CApi, MissingArgumentsAreRefusedByName) {
  const std::string text = apple().dump();
  char* findings = nullptr;
  omnirt_result* result = nullptr;
  omnirt_image image;
  const std::vector<std::pair<const char*, std::function<omnirt_status()>>> calls{
      {"session", [&] { return omnirt_session_create(nullptr); }},
      {"session", [&] { return omnirt_session_confine(nullptr, ""); }},
      {"folder", [&] { return omnirt_session_confine(session(), nullptr); }},
      {"session", [&] { return omnirt_validate(nullptr, text.c_str(), 0, &findings); }},
      {"request", [&] { return omnirt_validate(session(), nullptr, 0, &findings); }},
      {"findings", [&] { return omnirt_validate(session(), text.c_str(), 0, nullptr); }},
      {"flags", [&] { return omnirt_validate(session(), text.c_str(), 2, &findings); }},
      {"session", [&] { return omnirt_run(nullptr, text.c_str(), 0, nullptr, nullptr, &result); }},
      {"request", [&] { return omnirt_run(session(), nullptr, 0, nullptr, nullptr, &result); }},
      {"result", [&] { return omnirt_run(session(), text.c_str(), 0, nullptr, nullptr, nullptr); }},
      {"flags", [&] { return omnirt_run(session(), text.c_str(), 6, nullptr, nullptr, &result); }},
      {"result", [&] { return omnirt_result_image(nullptr, 0, 0, &image); }},
      {"image", [&] { return omnirt_result_image(nullptr, 0, 0, nullptr); }}};
  for (const auto& [argument, call] : calls) {
    EXPECT_EQ(call(), OMNIRT_BAD_REQUEST) << argument;
    EXPECT_THAT(omnirt_last_error(), StartsWith(argument));
  }
  EXPECT_EQ(omnirt_result_report(nullptr), nullptr);
  EXPECT_EQ(omnirt_result_count(nullptr), 0);
  EXPECT_EQ(omnirt_result_frames(nullptr, 0), 0);
  omnirt_session_destroy(nullptr);
  omnirt_result_destroy(nullptr);
  omnirt_text_destroy(nullptr);
}

TEST(CApi, ImagesThatAResultDoesNotHaveAreRefused) {
  omnirt_result* result = nullptr;
  ASSERT_EQ(omnirt_run(session(), apple().dump().c_str(), 0, nullptr, nullptr, &result), OMNIRT_OK);
  omnirt_image image;
  EXPECT_EQ(omnirt_result_image(result, 1, 0, &image), OMNIRT_BAD_REQUEST);
  EXPECT_THAT(omnirt_last_error(), HasSubstr("the result holds 1"));
  EXPECT_EQ(image.pixels, nullptr);
  EXPECT_EQ(omnirt_result_image(result, 0, 1, &image), OMNIRT_BAD_REQUEST);
  EXPECT_EQ(omnirt_result_frames(result, 1), 0);
  omnirt_result_destroy(result);
}

TEST(CApi, ConfinesARequestsPathsToAFolder) {
  TempFolder folder, elsewhere;
  omnirt_session* confined = nullptr;
  ASSERT_EQ(omnirt_session_create(&confined), OMNIRT_OK);
  ASSERT_EQ(omnirt_session_confine(confined, folder.path().c_str()), OMNIRT_OK);
  Json request = apple();
  request["config"]["output"] = (elsewhere.path() / "apple.png").string();
  char* findings = nullptr;
  EXPECT_EQ(omnirt_validate(confined, request.dump().c_str(), 0, &findings), OMNIRT_BAD_REQUEST);
  EXPECT_THAT(findings, HasSubstr("confined"));
  omnirt_text_destroy(findings);
  EXPECT_EQ(omnirt_session_confine(confined, "/no/such/folder"), OMNIRT_BAD_REQUEST);
  omnirt_session_destroy(confined);
}

TEST(CApi, SeveralThreadsShareASessionAndHaveErrorsOfTheirOwn) {
  const io::Image expected = run(apple()).images.at(0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] { EXPECT_EQ(run(apple()).images.at(0), expected); });
  threads.emplace_back([] { EXPECT_EQ(run({{"modell", "x"}}).status, OMNIRT_BAD_REQUEST); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(omnirt_last_error(), StrEq(""));
}

TEST(CApi, TheHeaderAndTheLibraryAgreeOnTheVersion) {
  EXPECT_EQ(omnirt_api_version(), OMNIRT_API_VERSION);
}

}  // namespace
}  // namespace omnirt::testing
