// Requests as programs that speak stable-diffusion-webui's API or OpenAI's send them, by their
// sources; sizes and steps are small here. All of it goes to one server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/image.hpp"
#include "serve/base64.hpp"
#include "serve/running_server.hpp"
#include "serve/webui_names.hpp"
#include "serve/webui_settings.hpp"
#include "serve/webui_values.hpp"
#include "source_paths.hpp"

namespace omnirt::serve {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* text_to_image = "/sdapi/v1/txt2img";
constexpr const char* image_to_image = "/sdapi/v1/img2img";

class Clients : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ServerOptions options;
    options.models = {"emoji-sd=" + source_path("models/emoji-sd").string(),
                      "emoji=" + source_path("models/emoji").string()};
    running_ = new Running(options);
  }
  static void TearDownTestSuite() {
    delete running_;
    running_ = nullptr;
  }
  static HttpClient::Answer post(const std::string& path, const Json& body) {
    return running_->post(path, body);
  }
  // Whether it is answered with an image, and what is said of it.
  static Json warnings_of(const Json& body, const char* path = text_to_image) {
    const auto answer = post(path, body);
    EXPECT_EQ(answer.status, 200) << body << answer.body;
    if (answer.status != 200) return Json::array();
    const Json json = answer.json();
    EXPECT_EQ(json["images"].size(), 1u);
    return parse_json(json["info"].get<std::string>(), "info")["warnings"];
  }
  // The warning about a field; null: none.
  static Json about(const Json& warnings, const std::string& field) {
    for (const Json& each : warnings) {
      if (each["field"] == field) return each;
    }
    return nullptr;
  }
  static std::string refusal(const Json& body, const char* path = text_to_image) {
    const auto answer = post(path, body);
    EXPECT_EQ(answer.status, 422) << body << answer.body;
    return answer.body;
  }
  static Running* running_;
};
Running* Clients::running_ = nullptr;

Json small(const char* text) {
  Json body = parse_json(text, "the body");
  body.update({{"width", 64}, {"height", 64}, {"steps", 1}});
  return body;
}

std::string image_text() {
  return base64_of(io::encode_image(io::Image::zeros(64, 64, 3), io::ImageFormat::png));
}

TEST_F(Clients, SillyTavern) {
  const Json warnings = warnings_of(small(R"({
    "prompt": "a red apple", "negative_prompt": "grey", "sampler_name": "DDIM",
    "scheduler": "normal", "steps": 20, "cfg_scale": 7, "width": 512, "height": 512,
    "restore_faces": false, "enable_hr": false, "hr_upscaler": "Latent", "hr_scale": 1.0,
    "hr_additional_modules": [], "denoising_strength": 0.7, "hr_second_pass_steps": 0,
    "override_settings": {"CLIP_stop_at_last_layers": 1},
    "override_settings_restore_afterwards": true, "clip_skip": 1, "save_images": true,
    "send_images": true, "do_not_save_grid": false, "do_not_save_samples": false})"));
  EXPECT_EQ(about(warnings, "save_images")["message"], "ignored: it changes no image");
}

TEST_F(Clients, OpenWebUi) {
  warnings_of(small(R"({"prompt": "a red apple", "batch_size": 1, "width": 512, "height": 512,
    "steps": 50, "negative_prompt": "grey", "cfg_scale": 7.0, "sampler_name": "DPM++ 2M",
    "scheduler": "Karras"})"));
  Json edit = small(R"({"prompt": "a red apple", "batch_size": 1, "cfg_scale": 7.0,
    "sampler_name": "Euler", "scheduler": "Automatic"})");
  edit["init_images"] = {image_text()};
  edit["steps"] = 2;
  warnings_of(edit, image_to_image);
  // All options as they were read, with another model.
  Json options = running_->get("/sdapi/v1/options").json();
  options["sd_model_checkpoint"] = "emoji";
  EXPECT_EQ(post("/sdapi/v1/options", options).status, 200);
  EXPECT_EQ(running_->get("/sdapi/v1/options").json()["sd_model_checkpoint"], "emoji");
  post("/sdapi/v1/options", {{"sd_model_checkpoint", "emoji-sd"}});
}

TEST_F(Clients, LibreChat) {
  warnings_of(small(R"({"prompt": "a red apple", "negative_prompt": "grey", "cfg_scale": 4.5,
    "steps": 22, "width": 1024, "height": 1024})"));
}

TEST_F(Clients, Forge) {
  const Json warnings = warnings_of(small(R"({
    "prompt": "a red apple", "negative_prompt": "", "seed": 1, "steps": 8, "cfg_scale": 1.0,
    "distilled_cfg_scale": 3.0, "sampler_name": "Euler", "scheduler": "Simple", "batch_size": 1,
    "n_iter": 1, "save_images": true, "send_images": true, "enable_hr": false,
    "hr_additional_modules": ["Use same choices"], "hr_cfg": 1.0, "hr_distilled_cfg": 3.5,
    "firstphase_width": 0, "firstphase_height": 0, "comments": {}, "alwayson_scripts": {}})"));
  EXPECT_THAT(about(warnings, "distilled_cfg_scale").dump(), HasSubstr("ignored"));
}

TEST_F(Clients, SdNext) {
  warnings_of(small(R"({"prompt": "a red apple", "negative_prompt": "", "steps": 20, "seed": -1,
    "width": 512, "height": 512, "sampler_name": "Euler a", "cfg_scale": 6, "clip_skip": 1,
    "full_quality": true, "hidiffusion": false, "detailer_enabled": false, "save_images": false,
    "send_images": true, "refiner_start": 0.8, "refiner_steps": 5})"));
}

TEST_F(Clients, KoboldAiLite) {
  const Json warnings = warnings_of(small(R"({
    "prompt": "a red apple", "seed": -1, "sampler_name": "Euler a", "batch_size": 1, "n_iter": 1,
    "steps": 20, "cfg_scale": 7, "negative_prompt": "ugly", "do_not_save_samples": true,
    "do_not_save_grid": true, "enable_hr": false, "eta": 0, "s_churn": 0, "s_tmax": 0, "s_tmin": 0,
    "s_noise": 1, "override_settings": {"sd_model_checkpoint": "emoji-sd",
    "eta_noise_seed_delta": 0.0, "CLIP_stop_at_last_layers": 1.0, "ddim_discretize": "uniform",
    "img2img_fix_steps": false, "sd_hypernetwork": "None", "inpainting_mask_weight": 1.0,
    "initial_noise_multiplier": 1.0, "comma_padding_backtrack": 20.0}})"));
  EXPECT_EQ(about(warnings, "eta")["message"], "Euler a without noise is Euler");
}

TEST_F(Clients, Agnai) {
  warnings_of(small(R"({"prompt": "a red apple", "height": 384, "width": 384, "n_iter": 1,
    "batch_size": 1, "negative_prompt": "ugly", "sampler_name": "DPM++ 2M", "cfg_scale": 9,
    "seed": 123456789, "steps": 28, "restore_faces": false, "save_images": false,
    "send_images": true})"));
}

TEST_F(Clients, RisuAi) {
  warnings_of(small(R"({"width": 512, "height": 512, "seed": -1, "steps": 30, "cfg_scale": 7,
    "prompt": "a red apple", "negative_prompt": "grey", "sampler_name": "Euler a",
    "enable_hr": false, "denoising_strength": 0.7, "hr_scale": 2, "hr_upscaler": "ESRGAN_4x"})"));
}

TEST_F(Clients, TextGenerationWebUi) {
  warnings_of(small(R"({"prompt": "a red apple", "seed": -1, "sampler_name": "DPM++ 2M Karras",
    "steps": 32, "cfg_scale": 7, "width": 512, "height": 512, "restore_faces": false,
    "negative_prompt": "grey", "enable_hr": false, "hr_upscaler": "ESRGAN_4x", "hr_scale": "1.0",
    "batch_size": 1, "denoising_strength": 0.7, "hr_second_pass_steps": 0, "n_iter": 1,
    "override_settings_restore_afterwards": true})"));
}

// Home Assistant's openai_conversation and n8n's OpenAI node ask for DALL-E 3's fields.
TEST_F(Clients, HomeAssistantAndN8n) {
  for (const char* text :
       {R"({"model": "emoji", "prompt": "a red apple", "size": "64x64", "quality": "standard",
            "style": "vivid", "response_format": "url", "n": 1, "user": "ha"})",
        R"({"model": "emoji", "prompt": "a red apple", "size": "64x64", "quality": "hd",
            "style": "natural", "response_format": "b64_json", "n": 1, "output_compression": 100,
            "background": "auto", "moderation": "low"})"}) {
    Json body = parse_json(text, "the body");
    body["steps"] = 1;
    EXPECT_EQ(post("/v1/images/generations", body).status, 200) << text;
  }
  const Json odd = {{"prompt", "a red apple"}, {"style", "noir"}};
  EXPECT_THAT(post("/v1/images/generations", odd).body, HasSubstr("vivid, natural"));
}

Json plain(const Json& more) {
  Json body = {{"prompt", "a red apple"}, {"width", 64}, {"height", 64}, {"steps", 1}, {"seed", 3}};
  body.update(more);
  return body;
}

TEST_F(Clients, WhatChangesNoImageIsIgnoredAndSaid) {
  const Json warnings = warnings_of(
      plain({{"stepps", 4},
             {"of_nobody", {{"a", 1}}},
             {"enable_hr", nullptr},
             {"resize_mode", 1},
             {"init_images", Json::array()},
             {"alwayson_scripts",
              {{"ADetailer", {{"args", {false, {{"ad_model", "x"}}}}}},
               {"ControlNet", {{"args", {{{"enabled", false}}}}}}}},
             {"override_settings", {{"sd_vae", "Automatic"}, {"live_previews_enable", 1}}}}));
  EXPECT_THAT(about(warnings, "stepps").dump(), AllOf(HasSubstr("unknown"), HasSubstr("'steps'")));
  for (const char* field :
       {"of_nobody", "resize_mode", "alwayson_scripts.ADetailer", "alwayson_scripts.ControlNet",
        "override_settings.live_previews_enable"})
    EXPECT_THAT(about(warnings, field).dump(), HasSubstr("ignored")) << field;
  EXPECT_TRUE(about(warnings, "init_images").is_null());
}

TEST_F(Clients, WhatWouldChangeTheImageIsRefusedByName) {
  const std::string body = refusal(plain({{"pag_scale", 3},
                                          {"cfg_end", 0.5},
                                          {"detailer", true},
                                          {"forge_additional_modules", {"ae.safetensors"}},
                                          {"init_images", {image_text()}}}));
  EXPECT_THAT(body, AllOf(HasSubstr("pag_scale"), HasSubstr("cfg_end"), HasSubstr("detailer"),
                          HasSubstr("forge_additional_modules"), HasSubstr("img2img")));
  EXPECT_THAT(refusal(plain({{"override_settings", {{"sd_vae", "x.pt"}, {"of_nobody", 1}}},
                             {"alwayson_scripts", {{"ADetailer", {{"args", {true}}}}}}})),
              AllOf(HasSubstr("sd_vae"), HasSubstr("of_nobody"), HasSubstr("ADetailer")));
  EXPECT_THAT(refusal(plain({{"enable_hr", true},
                             {"cfg_scale", 5},
                             {"hr_cfg", 7},
                             {"hr_additional_modules", {"x"}}})),
              AllOf(HasSubstr("hr_cfg"), HasSubstr("hr_additional_modules")));
}

TEST_F(Clients, TypedClientsSendNumbersAsTheyHaveThem) {
  const Json typed = {{"steps", 1.0},      {"width", 64.0},     {"cfg_scale", "5"},
                      {"batch_size", "1"}, {"seed", "3"},       {"enable_hr", "false"},
                      {"send_images", 1},  {"sampler_index", 0}};
  const Json warnings = warnings_of(plain(typed));
  EXPECT_THAT(about(warnings, "sampler_index").dump(), HasSubstr("samplers have names"));
  EXPECT_THAT(refusal(plain({{"steps", 1.5}, {"seed", "x"}, {"width", "64px"}})),
              AllOf(HasSubstr("steps"), HasSubstr("seed"), HasSubstr("width")));
  EXPECT_EQ(webui_value(Json(1e300), "integer"), std::nullopt);
  EXPECT_EQ(webui_value("yes", "boolean"), std::nullopt);
}

TEST_F(Clients, SamplersAndSchedulesAreReadAsWebuiDoes) {
  EXPECT_EQ(webui_scheduler("DPM++ 2M Karras", "Karras"), "DPM++ 2M karras");
  EXPECT_EQ(webui_scheduler("DPM++ 2M Karras", "automatic"), "DPM++ 2M karras");
  EXPECT_EQ(webui_scheduler("dpm++ 2m sde exponential", ""), "DPM++ 2M SDE exponential");
  EXPECT_EQ(webui_scheduler("Euler SGM Uniform", "Karras"), "Euler sgm_uniform");
  EXPECT_EQ(webui_scheduler("DDIM", ""), "DDIM");
  warnings_of(plain({{"sampler_name", "DPM++ 2M Karras"}, {"scheduler", "Karras"}}));
  const Json other =
      warnings_of(plain({{"sampler_name", "DPM++ 2M Karras"}, {"scheduler", "Exponential"}}));
  EXPECT_THAT(about(other, "scheduler").dump(), HasSubstr("the sampler's name says karras"));
  EXPECT_THAT(refusal(plain({{"sampler_name", "Euler"}, {"scheduler", "align_your_steps"}})),
              AllOf(HasSubstr("sampler_name, scheduler"), HasSubstr("karras")));
}

TEST_F(Clients, SizesAreRoundedDownAndANoiselessEditTakesAStep) {
  const auto answer = post(text_to_image, plain({{"width", 85}, {"height", 79}}));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json info = parse_json(answer.json()["info"].get<std::string>(), "info");
  EXPECT_EQ(info["width"].get<int>() % 8, 0);
  EXPECT_LE(info["width"], 85);
  EXPECT_THAT(about(info["warnings"], "width").dump(), HasSubstr("rounded down"));
  EXPECT_THAT(about(info["warnings"], "height").dump(), HasSubstr("rounded down"));
  EXPECT_EQ(post("/v1/generate", apple(1, {{"width", 85}})).status, 422);
  const Json still = warnings_of(
      plain({{"init_images", {image_text()}}, {"denoising_strength", 0}, {"steps", 49}}),
      image_to_image);
  EXPECT_THAT(about(still, "denoising_strength").dump(), HasSubstr("the last step alone"));
}

// emoji is distilled: no guidance, and no use for its scale.
TEST_F(Clients, AModelWithoutGuidanceIgnoresItsScale) {
  const Json warnings =
      warnings_of(plain({{"cfg_scale", 7},
                         {"negative_prompt", "grey"},
                         {"override_settings", {{"sd_model_checkpoint", "emoji"}}}}));
  EXPECT_FALSE(about(warnings, "cfg_scale").is_null()) << warnings;
}

TEST_F(Clients, ABodyWithoutATypeIsJson) {
  const std::string body = plain(Json::object()).dump();
  for (const char* path : {text_to_image, "/v1/images/generations"}) {
    EXPECT_EQ(running_->client().post(path, body, "").status == 415, false) << path;
    const auto refused = running_->client().post(path, body, "Content-Type: text/plain\r\n");
    EXPECT_EQ(refused.status, 415);
    EXPECT_THAT(refused.body, AllOf(HasSubstr("text/plain"), HasSubstr("application/json")));
  }
  EXPECT_EQ(running_->client().post("/v1/validate", apple().dump(), "").status, 200);
  EXPECT_EQ(running_->client()
                .post("/v1/validate/", apple().dump(), "Content-Type: Application/JSON;a=b\r\n")
                .status,
            200);
}

TEST_F(Clients, AnEditIsJsonOrAnyFormOfList) {
  const std::string url = "data:image/png;base64," + image_text();
  Json body = {{"model", "emoji-sd"}, {"prompt", "a red apple"}, {"seed", 1}, {"steps", 2}};
  for (const Json& image :
       {Json(url), Json(image_text()), Json{{"image_url", url}}, Json::array({url})}) {
    body["image"] = image;
    EXPECT_EQ(post("/v1/images/edits", body).status, 200) << image.dump().substr(0, 40);
  }
  for (const Json& bad : {Json("http://a/b.png"), Json(3), Json::array(), Json{{"file_id", "x"}}}) {
    body["image"] = bad;
    const auto refused = post("/v1/images/edits", body);
    EXPECT_EQ(refused.status, 400) << bad;
    EXPECT_THAT(refused.body, HasSubstr("image")) << bad;
  }
  const std::string png = io::encode_image(io::Image::zeros(64, 64, 3), io::ImageFormat::png);
  for (const char* name : {"image", "image[]", "image[0]"}) {
    const std::string form =
        form_of({{"model", "emoji-sd"}, {"prompt", "a red apple"}, {"steps", "2"}, {name, png}});
    EXPECT_EQ(running_->client().post("/v1/images/edits", form, form_type).status, 200) << name;
  }
}

}  // namespace
}  // namespace omnirt::serve
