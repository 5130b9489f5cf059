// stable-diffusion-webui's routes over real sockets, with the embedded models.
#include "serve/webui.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/file.hpp"
#include "io/image.hpp"
#include "io/sha256.hpp"
#include "serve/base64.hpp"
#include "serve/running_server.hpp"
#include "serve/temporary.hpp"
#include "serve/webui_image.hpp"
#include "serve/webui_names.hpp"
#include "source_paths.hpp"

namespace omnirt::serve {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* text_to_image = "/sdapi/v1/txt2img";
constexpr const char* image_to_image = "/sdapi/v1/img2img";

// As a client of webui sends it, every field with its usual value.
Json request_of_webui(const Json& more = Json::object()) {
  Json json = {{"prompt", "a red apple"},
               {"negative_prompt", ""},
               {"seed", 3},
               {"steps", 4},
               {"cfg_scale", 5.0},
               {"width", 128},
               {"height", 128},
               {"styles", Json::array()},
               {"subseed", -1},
               {"subseed_strength", 0.0},
               {"seed_resize_from_h", 0},
               {"seed_resize_from_w", 0},
               {"batch_size", 1},
               {"n_iter", 1},
               {"restore_faces", false},
               {"tiling", false},
               {"eta", 1.0},
               {"s_churn", 0},
               {"s_tmax", 0},
               {"s_tmin", 0},
               {"s_noise", 1},
               {"override_settings", {{"sd_model_checkpoint", "emoji-sd"}}},
               {"override_settings_restore_afterwards", true},
               {"sampler_name", "Euler a"},
               {"scheduler", "automatic"},
               {"script_name", nullptr},
               {"script_args", Json::array()},
               {"send_images", true},
               {"save_images", false},
               {"do_not_save_grid", false},
               {"alwayson_scripts", Json::object()}};
  json.update(more);
  return json;
}

// The same of ours.
Json same_of_ours(const Json& config = Json::object()) {
  Json json = {{"model", "emoji-sd"}, {"inputs", {{"prompt", "a red apple"}}}};
  json["config"] = {
      {"seed", 3},     {"num_inference_steps", 4}, {"guidance_scale", 5.0},   {"width", 128},
      {"height", 128}, {"scheduler", "Euler a"},   {"prompt_syntax", "a1111"}};
  json["config"].update(config);
  return json;
}

std::string pixels_in(const Json& images, size_t index) {
  return pixels_of(bytes_of_base64(images[index].get<std::string>()).value_or(""));
}

std::string image_text(uint8_t grey = 0) {
  io::Image image = io::Image::zeros(128, 128, 3);
  for (uint8_t& each : image.pixels) each = grey;
  return base64_of(io::encode_image(image, io::ImageFormat::png));
}

TEST(Webui, ATextBecomesTheImageThatItIsHere) {
  Running running;
  const auto answer = running.post(text_to_image, request_of_webui());
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json json = answer.json();
  EXPECT_TRUE(pixels_in(json["images"], 0) == pixels_alone(same_of_ours()));
  EXPECT_EQ(json["parameters"]["prompt"], "a red apple");
  const Json info = parse_json(json["info"].get<std::string>(), "info");
  EXPECT_EQ(info["all_seeds"], Json({3}));
  EXPECT_EQ(info["sd_model_name"], "emoji-sd");
  EXPECT_THAT(info["infotexts"][0].get<std::string>(),
              AllOf(HasSubstr("a red apple"), HasSubstr("Steps: 4"), HasSubstr("Sampler: Euler a"),
                    HasSubstr("Seed: 3")));
}

TEST(Webui, BatchesAreImagesOfOneRequestAndASeedIsDrawn) {
  Running running;
  Json asked = request_of_webui({{"batch_size", 2}, {"n_iter", 2}, {"seed", -1}});
  const Json json = running.post(text_to_image, asked).json();
  ASSERT_EQ(json["images"].size(), 4u) << json;
  const Json info = parse_json(json["info"].get<std::string>(), "info");
  const auto seed = info["seed"].get<int64_t>();
  EXPECT_EQ(info["all_seeds"], Json({seed, seed + 1, seed + 2, seed + 3}));
  EXPECT_EQ(info["infotexts"].size(), 4u);
  asked = request_of_webui({{"send_images", false}});
  EXPECT_EQ(running.post(text_to_image, asked).json()["images"].size(), 0u);
}

TEST(Webui, WeightsLayersAndTheSecondPassAreThoseOfOurKeys) {
  Running running;
  Json asked = request_of_webui({{"prompt", "a (red:1.3) apple"},
                                 {"enable_hr", true},
                                 {"hr_scale", 1.5},
                                 {"hr_upscaler", "Latent (nearest-exact)"},
                                 {"hr_second_pass_steps", 3},
                                 {"denoising_strength", 0.5},
                                 {"hr_prompt", ""},
                                 {"hr_sampler_name", nullptr}});
  asked["override_settings"]["CLIP_stop_at_last_layers"] = 2;
  const auto answer = running.post(text_to_image, asked);
  ASSERT_EQ(answer.status, 200) << answer.body;
  Json ours = same_of_ours({{"clip_skip", 1},
                            {"hires_scale", 1.5},
                            {"hires_upscaler", "latent-nearest-exact"},
                            {"hires_steps", 3},
                            {"hires_strength", 0.5}});
  ours["inputs"]["prompt"] = "a (red:1.3) apple";
  EXPECT_TRUE(pixels_in(answer.json()["images"], 0) == pixels_alone(ours));
}

TEST(Webui, AnImageIsChangedWhereTheMaskSaysSo) {
  Running running;
  io::Image mask = io::Image::zeros(128, 128, 1);
  for (size_t i = 0; i < mask.pixels.size() / 2; ++i) mask.pixels[i] = 255;
  Json asked = request_of_webui({{"init_images", {"data:image/png;base64," + image_text()}},
                                 {"denoising_strength", 0.6},
                                 {"resize_mode", 0},
                                 {"image_cfg_scale", 1.5},
                                 {"initial_noise_multiplier", 1},
                                 {"inpainting_fill", 0},
                                 {"mask_blur", 4}});
  const auto whole = running.post(image_to_image, asked);
  ASSERT_EQ(whole.status, 200) << whole.body;
  EXPECT_TRUE(whole.json()["parameters"]["init_images"].is_null());
  asked["mask"] = base64_of(io::encode_image(mask, io::ImageFormat::png));
  EXPECT_THAT(running.post(image_to_image, asked).body, HasSubstr("inpainting_fill"));
  asked["inpainting_fill"] = 1;
  const auto above = running.post(image_to_image, asked);
  ASSERT_EQ(above.status, 200) << above.body;
  asked["inpainting_mask_invert"] = 1;
  const auto below = running.post(image_to_image, asked);
  const std::string first = pixels_in(above.json()["images"], 0);
  const std::string second = pixels_in(below.json()["images"], 0);
  const size_t quarter = first.size() / 4;
  auto is_black = [](const std::string& pixels) {
    return std::all_of(pixels.begin(), pixels.end(), [](char each) { return each == 0; });
  };
  EXPECT_TRUE(is_black(first.substr(first.size() - quarter)));
  EXPECT_FALSE(is_black(first.substr(0, quarter)));
  EXPECT_TRUE(is_black(second.substr(0, quarter)));
  EXPECT_FALSE(is_black(second.substr(second.size() - quarter)));
}

TEST(Webui, WhatCannotBeIsRefusedByName) {
  Running running;
  Json asked = request_of_webui({{"restore_faces", true},
                                 {"tiling", true},
                                 {"subseed_strength", 0.3},
                                 {"styles", {"x"}},
                                 {"script_name", "x/y plot"},
                                 {"refiner_checkpoint", "xl"},
                                 {"init_images", {image_text()}}});
  auto answer = running.post(text_to_image, asked);
  EXPECT_EQ(answer.status, 422);
  const Json error = answer.json();
  EXPECT_EQ(error["error"], "invalid-request");
  for (const char* name : {"restore_faces", "tiling", "subseed_strength", "styles", "script_name",
                           "refiner_checkpoint", "init_images"})
    EXPECT_THAT(error["detail"].get<std::string>(), HasSubstr(name));
  asked = request_of_webui({{"alwayson_scripts", {{"ControlNet", {{"args", {1}}}}}},
                            {"override_settings", {{"sd_vae", "x"}}},
                            {"batch_size", 0}});
  EXPECT_THAT(running.post(text_to_image, asked).body,
              AllOf(HasSubstr("alwayson_scripts.ControlNet"), HasSubstr("override_settings.sd_vae"),
                    HasSubstr("batch_size")));
  // By the names of webui, where our validation finds it.
  answer = running.post(text_to_image, request_of_webui({{"steps", 0}, {"width", 130}}));
  EXPECT_THAT(answer.body, HasSubstr("steps = 0"));
  answer = running.post(text_to_image, request_of_webui({{"sampler_name", "DPM adaptive"}}));
  EXPECT_EQ(answer.status, 422);
  EXPECT_THAT(answer.body, HasSubstr("sampler_name"));
  asked = request_of_webui({{"override_settings", {{"sd_model_checkpoint", "none"}}}});
  EXPECT_EQ(running.post(text_to_image, asked).status, 422);
  EXPECT_EQ(running.client().post(text_to_image, "{bad").status, 400);
  EXPECT_EQ(running.client().post(text_to_image, "{}", "Content-Type: text/plain\r\n").status, 415);
  EXPECT_EQ(running.get(text_to_image).status, 405);
  EXPECT_EQ(running.get("/sdapi/v1/none").json()["error"], "no-such-route");
}

// Where weights mean nothing, they are not read as words either.
TEST(Webui, AModelWithoutWeightsTakesPlainWordsAlone) {
  Running running;
  Json asked = request_of_webui({{"override_settings", {{"sd_model_checkpoint", "emoji"}}},
                                 {"sampler_name", "Euler"},
                                 {"cfg_scale", 1}});
  EXPECT_EQ(running.post(text_to_image, asked).status, 200);
  asked["prompt"] = "a (red:1.3) apple";
  EXPECT_THAT(running.post(text_to_image, asked).body, HasSubstr("no weights"));
  asked["prompt"] = "a red apple <lora:none:1>";
  EXPECT_THAT(running.post(text_to_image, asked).body, HasSubstr("adapters[0]"));
  // A key that the model does not have is not ignored.
  asked["prompt"] = "a red apple";
  asked["override_settings"]["CLIP_stop_at_last_layers"] = 2;
  EXPECT_THAT(running.post(text_to_image, asked).body, HasSubstr("CLIP_stop_at_last_layers"));
}

TEST(Webui, ALoraInThePromptIsAnAdapterOfTheServers) {
  ServerOptions options;
  options.models = {"tiny=" + source_path("tests/goldens/pipelines/sd15/model").string()};
  options.lora_folders = {source_path("tests/goldens/adapters/files").string()};
  Running running(options);
  const Json asked = {{"prompt", "a red apple <lora:kohya:0.5>"}, {"seed", 3}, {"steps", 2}};
  const auto answer = running.post(text_to_image, asked);
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json info = parse_json(answer.json()["info"].get<std::string>(), "info");
  EXPECT_THAT(info["infotexts"][0].get<std::string>(), HasSubstr("<lora:kohya:0.5>"));
  const Json ours = {{"inputs", {{"prompt", "a red apple"}}},
                     {"adapters", {"kohya:0.5"}},
                     {"config", {{"seed", 3}, {"num_inference_steps", 2}}}};
  const Json done = running.post("/v1/generate", ours).json();
  EXPECT_TRUE(pixels_in(answer.json()["images"], 0) ==
              pixels_of(*bytes_of_base64(done["artifacts"][0]["data"].get<std::string>())));
  const std::string names = running.get("/sdapi/v1/loras").body;
  EXPECT_THAT(names,
              AllOf(HasSubstr("\"name\":\"kohya\""), Not(HasSubstr(source_path("").string()))));
}

TEST(Webui, ListsAndOptionsAreWhatIsServed) {
  Running running;
  for (const char* list : {"samplers", "schedulers", "sd-models", "loras", "upscalers", "sd-vae",
                           "latent-upscale-modes", "embeddings", "scripts", "prompt-styles"})
    EXPECT_EQ(running.get(std::string("/sdapi/v1/") + list).status, 200) << list;
  EXPECT_EQ(running.get("/sdapi/v1/sd-models").json()[1]["title"], "emoji-sd");
  EXPECT_EQ(running.get("/sdapi/v1/options").json()["sd_model_checkpoint"], "emoji");
  EXPECT_EQ(running.post("/sdapi/v1/options", {{"sd_model_checkpoint", "emoji-sd [x]"}}).status,
            200);
  EXPECT_EQ(running.get("/sdapi/v1/options").json()["sd_model_checkpoint"], "emoji-sd");
  EXPECT_EQ(running.post("/sdapi/v1/options", {{"sd_model_checkpoint", "none"}}).status, 422);
  EXPECT_THAT(running.post("/sdapi/v1/options", {{"eta_ddim", 1}}).body, HasSubstr("eta_ddim"));
  EXPECT_EQ(running.post("/sdapi/v1/refresh-checkpoints", Json::object()).status, 200);
}

TEST(Webui, EverySamplerAndScheduleIsOneOfOurs) {
  Running running;
  Json asked = {{"model", "emoji-sd"}, {"inputs", {{"prompt", "a red apple"}}}};
  for (const WebuiSampler& each : webui_samplers()) {
    asked["config"]["scheduler"] = webui_scheduler(std::string(each.name), "Automatic");
    EXPECT_EQ(running.post("/v1/validate", asked).status, 200) << asked;
  }
  for (const WebuiSchedule& each : webui_schedules()) {
    asked["config"]["scheduler"] = webui_scheduler("k_euler", std::string(each.label));
    EXPECT_EQ(running.post("/v1/validate", asked).status, 200) << asked;
  }
}

TEST(Webui, ProgressIsTheClientsAndAnInterruptEndsIt) {
  Running running;
  EXPECT_EQ(running.get("/sdapi/v1/progress").json()["progress"], 0.0);
  HttpClient waits = running.client();
  const Json asked = {{"prompt", "a red apple"},
                      {"steps", 1000},
                      {"override_settings",
                       {{"sd_model_checkpoint", "emoji"}, {"show_progress_every_n_steps", 1}}}};
  const std::string body = asked.dump();
  waits.send(
      "POST /sdapi/v1/txt2img HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Type: application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  Json progress;
  do {
    progress = running.get("/sdapi/v1/progress").json();
    ASSERT_EQ(progress["state"]["interrupted"], false) << progress;
  } while (progress["current_image"].is_null() || progress["progress"] == 0.0);
  EXPECT_GT(progress["progress"], 0.0);
  EXPECT_EQ(progress["state"]["job_count"], 1);
  EXPECT_EQ(progress["state"]["sampling_steps"], 1000);
  EXPECT_TRUE(
      running.get("/sdapi/v1/progress?skip_current_image=true").json()["current_image"].is_null());
  EXPECT_EQ(running.client().request("POST", "/sdapi/v1/interrupt", "", "").status, 200);
  const auto answer = waits.read();
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(answer.json()["error"], "cancelled");
  EXPECT_EQ(running.get("/sdapi/v1/progress").json()["state"]["job_count"], 0);
}

TEST(Webui, AKeyIsThePasswordOfHttpBasic) {
  Temporary folder;
  io::Sha256 digest;
  digest.add("ann-key");
  const Json file = {{"keys", {{{"name", "ann"}, {"sha256", digest.hex()}}}}};
  io::write_file(folder.path() / "keys.json", file.dump());
  ServerOptions options;
  options.key_file = (folder.path() / "keys.json").string();
  Running running(options);
  EXPECT_EQ(running.get("/sdapi/v1/sd-models").json()["error"], "no-key");
  const std::string right = "Authorization: Basic " + base64_of("ann:ann-key") + "\r\n";
  EXPECT_EQ(running.get("/sdapi/v1/sd-models", right).status, 200);
  const std::string wrong = "Authorization: Basic " + base64_of("ann:x") + "\r\n";
  EXPECT_EQ(running.get("/sdapi/v1/sd-models", wrong).status, 401);
}

TEST(Webui, TheParametersOfAnImageAreRead) {
  Running running;
  const Json made = running.post(text_to_image, request_of_webui()).json();
  const auto answer = running.post("/sdapi/v1/png-info", {{"image", made["images"][0]}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json info = answer.json();
  EXPECT_EQ(info["parameters"]["Prompt"], "a red apple");
  EXPECT_EQ(info["parameters"]["Steps"], "4");
  EXPECT_EQ(info["items"]["parameters"], info["info"]);
  EXPECT_EQ(running.post("/sdapi/v1/png-info", {{"image", image_text()}}).json()["info"], "");
  EXPECT_EQ(running.post("/sdapi/v1/png-info", {{"image", "?"}}).status, 422);
  EXPECT_EQ(running.post("/sdapi/v1/png-info", {{"image", base64_of("x")}}).status, 422);
  EXPECT_EQ(running.post("/sdapi/v1/png-info", Json::array()).status, 422);
}

TEST(Webui, ParametersAreSplitAsWebuiDoes) {
  const Json read = read_parameters_text(
      "a cat,\nin a hat\nNegative prompt: dog\nmore dogs\nSteps: 20, Sampler: Euler a, "
      "Lora hashes: \"a: 1, b: 2\", Size: 512x512");
  EXPECT_EQ(read["Prompt"], "a cat,\nin a hat");
  EXPECT_EQ(read["Negative prompt"], "dog\nmore dogs");
  EXPECT_EQ(read["Lora hashes"], "a: 1, b: 2");
  EXPECT_EQ(read["Size"], "512x512");
  EXPECT_EQ(read_parameters_text("Steps: 3, Seed: 1")["Seed"], "1");
  EXPECT_EQ(read_parameters_text("only words")["Prompt"], "only words");
}

}  // namespace
}  // namespace omnirt::serve
