// Infinities and NaNs are found where they begin, and not written into images.
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "catalogue/plain_models.hpp"
#include "catalogue/support.hpp"
#include "io/temp_folder.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

GenerateRequest request_of(const fs::path& model) {
  GenerateRequest request;
  request.inputs["prompt"] = "a red apple";
  request.config = {{"num_inference_steps", 3}, {"seed", 1}, {"width", 64}, {"height", 64}};
  request.model = model.string();
  return request;
}

// The model of one file with one number replaced.
struct Broken {
  Broken(const std::string& tensor, double value) {
    NamedTensors file = plain_model("sd1").file;
    file.at(tensor) = file.at(tensor).clone();
    file.at(tensor).view({-1})[0] = value;
    save_safetensors(temp / "one.safetensors", file);
  }
  GenerateRequest request() const { return request_of(temp / "one.safetensors"); }
  TempFolder temp;
};

TEST(NotFinite, WeightsAreNamedWithTheirComponent) {
  struct Case {
    const char *tensor, *component;
    double value;
  };
  for (const Case& each : {Case{"model.diffusion_model.input_blocks.0.0.weight", "unet", NAN},
                           Case{"model.diffusion_model.out.2.bias", "unet", INFINITY},
                           Case{"first_stage_model.decoder.conv_out.bias", "vae", NAN},
                           Case{"cond_stage_model.transformer.text_model.final_layer_norm.bias",
                                "text_encoder", -INFINITY}}) {
    SCOPED_TRACE(each.tensor);
    const Broken model(each.tensor, each.value);
    const std::string told = message_of<InvalidFile>([&] { run(model.request()); });
    EXPECT_THAT(told, HasSubstr(std::string("one.safetensors: tensor ") + each.tensor));
    EXPECT_THAT(told, HasSubstr(std::string("a weight of ") + each.component));
    EXPECT_THAT(told, HasSubstr(std::isnan(each.value) ? "nan at [0" : "inf at [0"));
  }
}

TEST(NotFinite, IsAWarningWhereTheRequestAllowsIt) {
  const Broken model("model.diffusion_model.out.2.bias", NAN);
  GenerateRequest request = model.request();
  request.config["allow_nan"] = true;
  const Outcome outcome = run(request);
  std::vector<std::string> told;
  for (const Finding& finding : outcome.report.warnings)
    if (finding.field == "config.allow_nan") told.push_back(finding.message);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], HasSubstr("after step 1 of 4"));
}

// A LoRA for the UNet's first attention, and an embedding, each with one NaN.
TEST(NotFinite, AdaptersAreRefusedBeforeTheRun) {
  TempFolder temp;
  const std::string layer = "lora_unet_down_blocks_0_attentions_0_proj_in";
  NamedTensors lora{{layer + ".lora_down.weight", at::full({4, 32, 1, 1}, 0.01)},
                    {layer + ".lora_up.weight", at::full({32, 4, 1, 1}, 0.01)},
                    {layer + ".alpha", at::full({}, 4.0)}};
  save_safetensors(temp / "sound.safetensors", lora);
  lora.at(layer + ".lora_up.weight")[3][1] = NAN;
  save_safetensors(temp / "lora.safetensors", lora);
  NamedTensors token{{"emb_params", at::full({2, 64}, 0.1)}};
  token.at("emb_params")[1][5] = INFINITY;
  save_safetensors(temp / "token.safetensors", token);

  auto told = [&](const std::string& file, bool allowed) {
    GenerateRequest request = request_of(plain_model("sd1").folder);
    request.adapters = {{{"path", (temp / file).string()}}};
    if (allowed) request.config["allow_nan"] = true;
    std::string text;
    const Proposal proposal = engine().check(request);
    for (const Finding& finding : allowed ? proposal.warnings : proposal.errors)
      text += finding.text();
    return text;
  };
  EXPECT_THAT(told("lora.safetensors", false),
              HasSubstr("lora.safetensors: tensor " + layer + ".lora_up.weight"));
  EXPECT_THAT(told("lora.safetensors", false), HasSubstr("nan at [3, 1, 0, 0]"));
  EXPECT_THAT(told("lora.safetensors", true), HasSubstr("nan at [3, 1, 0, 0]"));
  EXPECT_THAT(told("token.safetensors", false), HasSubstr("inf at [1, 5]"));
  EXPECT_EQ(told("sound.safetensors", false), "");
}

TEST(NotFinite, GivenLatentsAreRefusedByTheirFile) {
  TempFolder temp;
  NamedTensors latents{{"latents", at::full({1, 4, 8, 8}, 0.5)}};
  latents.at("latents")[0][1][2][3] = NAN;
  save_safetensors(temp / "latents.safetensors", latents);
  GenerateRequest request = request_of(plain_model("sd1").folder);
  request.inputs["latents"] = (temp / "latents.safetensors").string();
  const std::string told = message_of<InvalidRequest>([&] { run(request); });
  EXPECT_THAT(told, HasSubstr("inputs.latents"));
  EXPECT_THAT(told, HasSubstr("numbers that are not finite"));
}

}  // namespace
}  // namespace omnirt::testing
