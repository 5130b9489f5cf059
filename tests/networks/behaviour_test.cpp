#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "networks/autoencoder_kl/model.hpp"
#include "networks/clip_text_model/model.hpp"
#include "networks/clip_vision_model/model.hpp"
#include "networks/support.hpp"
#include "networks/unet_2d_condition_model/model.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Throws;
using ::testing::ThrowsMessage;

std::vector<std::string> segments(const std::vector<OpRecord>& trace) {
  std::vector<std::string> names;
  for (const OpRecord& record : trace) {
    if (names.empty() || names.back() != record.segment) names.push_back(record.segment);
  }
  return names;
}

TEST(CLIPTextModel, DoesNotComputeLayersThatAreSkipped) {
  LoadedNetwork loaded = load_case("clip_sd1");
  std::vector<OpRecord> trace;
  Context cx = loaded.context({.trace = &trace});
  loaded.as<CLIPTextModel>().forward(cx, at::zeros({1, 5}, at::kLong), {.clip_skip = 2});
  std::vector<std::string> names = segments(trace);
  EXPECT_EQ(std::ranges::count(names, "encoder.layers.0"), 1);
  EXPECT_EQ(std::ranges::count(names, "encoder.layers.1"), 0);
}

TEST(CLIPTextModel, PoolsTheLastLayerWhateverIsSkipped) {
  LoadedNetwork loaded = load_case("clip_sd1");
  Tensors tensors = golden("clip_sd1", "golden");
  Context cx = loaded.context();
  auto output = loaded.as<CLIPTextModel>().forward(cx, tensors.at("in.input_ids"),
                                                   {.clip_skip = 1, .pooled = true});
  EXPECT_LT(difference(output.pooled, tensors.at("out.pooler_output")), 2e-5);
  EXPECT_LT(difference(output.last_hidden_state, tensors.at("out.clip_skip_1")), 2e-5);
}

TEST(CLIPTextModel, RefusesTokensOutsideItsVocabulary) {
  LoadedNetwork loaded = load_case("clip_sd1");
  Context cx = loaded.context();
  for (int64_t id : {int64_t{-1}, int64_t{300}, int64_t{1} << 40}) {
    EXPECT_THAT(
        [&] {
          loaded.as<CLIPTextModel>().forward(cx, at::tensor({int64_t{0}, id}).unsqueeze(0));
        },
        ThrowsMessage<InvalidRequest>(HasSubstr(std::to_string(id))));
  }
}

TEST(CLIPTextModel, RefusesMoreTokensThanItHasPositions) {
  LoadedNetwork loaded = load_case("clip_sd1");
  Context cx = loaded.context();
  EXPECT_THAT(
      [&] {
        loaded.as<CLIPTextModel>().forward(cx, at::zeros({1, 17}, at::kLong));
      },
      ThrowsMessage<InvalidRequest>(HasSubstr("at most 16")));
}

TEST(CLIPTextModel, RefusesToSkipMoreLayersThanItHas) {
  LoadedNetwork loaded = load_case("clip_sd1");
  Context cx = loaded.context();
  EXPECT_THAT(
      [&] {
        loaded.as<CLIPTextModel>().forward(cx, at::zeros({1, 4}, at::kLong), {.clip_skip = 4});
      },
      ThrowsMessage<InvalidRequest>(HasSubstr("clip_skip")));
}

TEST(CLIPVisionModel, RefusesImagesOfAnotherSize) {
  LoadedNetwork loaded = load_case("vision_projected");
  Context cx = loaded.context();
  EXPECT_THAT(
      [&] {
        loaded.as<CLIPVisionModel>().forward(cx, at::zeros({1, 3, 32, 24}));
      },
      ThrowsMessage<InvalidRequest>(HasSubstr("takes 32x32")));
}

TEST(UNet2DConditionModel, RunsEachBlockAsASegmentOfItsOwn) {
  LoadedNetwork loaded = without_weights(make_network({{"_class_name", "UNet2DConditionModel"}}));
  std::set<std::string> blocks;
  loaded.network->visit([&](const nn::Module& module) {
    std::string name = module.class_name();
    if (name == "BasicTransformerBlock" || name == "ResnetBlock2D") blocks.insert(module.path());
  });
  std::vector<OpRecord> trace;
  Context cx = loaded.context({.dry = true, .trace = &trace});
  loaded.as<nn::DenoiserNetwork>().predict(cx,
                                           {{"sample", {at::zeros({1, 4, 8, 8})}},
                                            {"timestep", {at::zeros({1})}},
                                            {"encoder_hidden_states", {at::zeros({1, 7, 1280})}}});
  std::vector<std::string> names = segments(trace);
  for (const std::string& block : blocks) EXPECT_EQ(std::ranges::count(names, block), 1) << block;
  EXPECT_EQ(blocks.size(), 22u + 16u);
}

TEST(UNet2DConditionModel, StopsWithinTheStepWhenCancelled) {
  LoadedNetwork loaded = load_case("unet_sd1");
  Tensors tensors = golden("unet_sd1", "golden");
  CancelToken cancel;
  cancel.cancel();
  Context cx = loaded.context({.cancel = &cancel});
  EXPECT_THAT(
      [&] {
        loaded.as<UNet2DConditionModel>().forward(cx, {tensors.at("in.sample"),
                                                       tensors.at("in.timestep"),
                                                       tensors.at("in.encoder_hidden_states"),
                                                       {}});
      },
      Throws<Cancelled>());
}

TEST(UNet2DConditionModel, RefusesInputsThatItDoesNotKnow) {
  LoadedNetwork loaded = load_case("unet_sd1");
  Context cx = loaded.context();
  Values inputs{{"sample", {at::zeros({1, 4, 8, 8})}},
                {"timestep", {at::zeros({1})}},
                {"encoder_hidden_states", {at::zeros({1, 7, 24})}},
                {"depth", {at::zeros({1})}}};
  EXPECT_THAT([&] { loaded.as<nn::DenoiserNetwork>().predict(cx, inputs); },
              Throws<InternalError>());
  inputs.erase("depth");
  inputs.erase("timestep");
  EXPECT_THAT([&] { loaded.as<nn::DenoiserNetwork>().predict(cx, inputs); },
              ThrowsMessage<InternalError>(HasSubstr("timestep")));
}

TEST(UNet2DConditionModel, PredictsABatchAsItsSamplesAlone) {
  LoadedNetwork loaded = load_case("unet_sd2");
  Tensors tensors = golden("unet_sd2", "golden");
  const auto& unet = loaded.as<UNet2DConditionModel>();
  Context cx = loaded.context();
  auto row = [&](const char* name, int64_t i) { return tensors.at(name).narrow(0, i, 1); };
  for (int64_t i = 0; i < 3; ++i) {
    Tensor alone = unet.forward(
        cx, {row("in.sample", i), row("in.timestep", i), row("in.encoder_hidden_states", i), {}});
    EXPECT_LT(difference(alone, row("out.sample", i)), 2e-5);
  }
}

TEST(Networks, ComputeInHalfPrecisionOnRequest) {
  // bf16 has 8 bits of mantissa, and a network pass rounds some hundred times.
  LoadedNetwork loaded = load_case("unet_fp16", {at::kBFloat16, true});
  Tensors tensors = golden("unet_fp16", "golden");
  Context cx = loaded.context();
  Tensor sample =
      loaded.as<UNet2DConditionModel>().forward(cx, {tensors.at("in.sample"),
                                                     tensors.at("in.timestep"),
                                                     tensors.at("in.encoder_hidden_states"),
                                                     {}});
  EXPECT_EQ(sample.scalar_type(), at::kBFloat16);
  EXPECT_LT(difference(sample, tensors.at("out.sample")), 5e-2);
}

TEST(AutoencoderKL, LimitsTheVarianceThatItDrawsWith) {
  nn::DiagonalGaussian latents{at::zeros({1, 1, 1, 2}),
                               at::tensor({100.0f, -100.0f}).view({1, 1, 1, 2})};
  LoadedNetwork loaded = load_case("kl_sd");
  Context cx = loaded.context();
  Tensor sample = latents.sample(cx, at::ones({1, 1, 1, 2}));
  EXPECT_FLOAT_EQ(sample[0][0][0][0].item<float>(), std::exp(10.0f));
  EXPECT_FLOAT_EQ(sample[0][0][0][1].item<float>(), std::exp(-15.0f));
}

TEST(NetworkMetadata, HasTheRowsOfTheReference) {
  const std::vector<std::string> rows{"_supports_gradient_checkpointing",
                                      "_supports_group_offloading",
                                      "_no_split_modules",
                                      "_skip_layerwise_casting_patterns",
                                      "_repeated_blocks",
                                      "_cp_plan",
                                      "_weight_mapping",
                                      "_lora",
                                      "_supports_cache",
                                      "_supports_ip_adapter"};
  for (const nn::NetworkInfo& info : catalogue().networks) {
    EXPECT_EQ(usual_network(info)->metadata().keys(), rows) << info.class_name;
  }
}

TEST(NetworkMetadata, SaysWhatToSetWhenVerbose) {
  auto network = make_network({{"_class_name", "UNet2DConditionModel"}});
  std::string text = network->metadata().describe("UNet2DConditionModel", true);
  EXPECT_THAT(text, HasSubstr("_repeated_blocks"));
  EXPECT_THAT(text, HasSubstr("NetworkFeatures::repeated_blocks"));
}

}  // namespace
}  // namespace omnirt::testing
