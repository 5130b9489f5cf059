// Qwen-Image 2.1's networks, their files and LoRAs against diffusers, over tiny random checkpoints
// (tools/goldens/qwen_image_21.py).
#include <ATen/ops/clamp.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "networks/autoencoder_kl_qwen_image21/model.hpp"
#include "networks/denoiser_goldens.hpp"
#include "networks/each_golden.hpp"
#include "networks/originals.hpp"
#include "networks/qwen_image21_transformer_2d_model/model.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* qwen21_folder = "tests/goldens/networks/qwen_image_21_transformer";
// fp32 on both sides; what is left comes from the order of additions.
constexpr double qwen21_tolerance = 1e-5;

TEST(AutoencoderKLQwenImage21, GivesTheReferencesNormalisedLatents) {
  each_golden(
      "qwen_image_21_vae", "golden_encode", [](const LoadedNetwork& loaded, const Tensors& t) {
        const auto& vae = loaded.as<AutoencoderKLQwenImage21>();
        auto no_spread = [](at::IntArrayRef shape) { return at::zeros(shape, at::kFloat); };
        Call encode = [&](Context& cx) { return vae.encode(cx, t.at("in.image"), no_spread); };
        Context cx = loaded.context();
        EXPECT_LT(difference(encode(cx), t.at("out.latents")), qwen21_tolerance);
        nn::DiagonalGaussian moments = vae.distribution(cx, t.at("in.image"));
        EXPECT_LT(difference(moments.mean, t.at("out.mean")), qwen21_tolerance);
        EXPECT_LT(difference(moments.logvar, t.at("out.logvar")), qwen21_tolerance);
        expect_same_when_dry(
            loaded, [&](Context& c) { return vae.distribution(c, t.at("in.image")).mean; });
      });
}

TEST(AutoencoderKLQwenImage21, DecodesNormalisedLatentsAsTheReferencesPipeline) {
  each_golden(
      "qwen_image_21_vae", "golden_decode", [](const LoadedNetwork& loaded, const Tensors& t) {
        const auto& vae = loaded.as<nn::Autoencoder>();
        Call decode = [&](Context& cx) { return vae.decode(cx, t.at("in.latents")); };
        Context cx = loaded.context();
        EXPECT_LT(difference(at::clamp(decode(cx), -1, 1), t.at("out.image")), qwen21_tolerance);
        expect_same_when_dry(loaded, decode);
      });
}

TEST(AutoencoderKLQwenImage21, RefusesWhatItCannotMake) {
  const nn::NetworkInfo& info = autoencoder_kl_qwen_image21_info();
  auto vae = make<AutoencoderKLQwenImage21>(info);
  EXPECT_EQ(vae->latent_channels(), 64);
  EXPECT_EQ(vae->factors().side, 16);
  EXPECT_EQ(vae->image_channels(), 4);
  auto refused = [&info](const Json& config) {
    return [&info, config] { make<AutoencoderKLQwenImage21>(info, config); };
  };
  EXPECT_THAT(refused({{"out_channels", 3}}),
              ThrowsMessage<Unsupported>(HasSubstr("out_channels")));
  EXPECT_THAT(refused({{"z_dim", 8}}), ThrowsMessage<Unsupported>(HasSubstr("latents_mean")));
  EXPECT_THAT(refused({{"is_residual", false}}),
              ThrowsMessage<Unsupported>(HasSubstr("is_residual")));
  EXPECT_THAT(refused({{"dim_mult", {1, 3, 4, 8, 8}}}),
              ThrowsMessage<Unsupported>(HasSubstr("shortcut of level 1 of the encoder")));
  EXPECT_THAT(refused({{"temperal_downsample", {true}}}),
              ThrowsMessage<Unsupported>(HasSubstr("temperal_downsample")));
}

TEST(QwenImage21Transformer2DModel, GivesTheReferencesPrediction) {
  expect_predictions_of_cases("qwen_image_21_transformer", qwen21_tolerance);
}

TEST(QwenImage21Transformer2DModel, GoesByReferenceImages) {
  LoadedNetwork loaded = load_case("qwen_image_21_transformer");
  Tensors tensors = golden("qwen_image_21_transformer", "golden_references");
  Context cx = loaded.context();
  Tensor with = prediction_of(cx, loaded, tensors);
  for (const char* name : {"reference_latents", "prefix_ids", "prefix_mask", "sample_ids"})
    tensors.erase(std::string("in.") + name);
  EXPECT_GT(difference(prediction_of(cx, loaded, tensors), with), 0.01);
}

TEST(QwenImage21Transformer2DModel, TakesOneTimestepForAllRows) {
  LoadedNetwork loaded = load_case("qwen_image_21_transformer");
  Tensors tensors = golden("qwen_image_21_transformer", "golden");
  tensors["in.timestep"].fill_(570.857);
  Context cx = loaded.context();
  Tensor each = prediction_of(cx, loaded, tensors);
  tensors["in.timestep"] = tensors["in.timestep"].narrow(0, 0, 1);
  EXPECT_LT(difference(prediction_of(cx, loaded, tensors), each), qwen21_tolerance);
}

// As a loop gives the inputs: what no step changes lives as long as the run. Counts the attentions
// of a call, of which a block has two where it reads the text, too.
int64_t qwen21_attentions(const char* name, RunState& state, const Values& inputs,
                          const Tensor& expected, const SitePlan* sites = nullptr) {
  LoadedNetwork loaded = load_case(name);
  std::vector<OpRecord> trace;
  Context cx = loaded.context({.state = &state, .trace = &trace});
  if (sites) cx.enter_batch({}, {}, sites);
  for (const auto& [input, list] : inputs) cx.know(list.front());
  const Tensor made = loaded.as<nn::DenoiserNetwork>().predict(cx, inputs);
  if (expected.defined()) EXPECT_LT(difference(made, expected), qwen21_tolerance);
  return std::ranges::count(trace, std::string("attention"), &OpRecord::op);
}

Values qwen21_values(const Tensors& tensors) {
  Values inputs;
  for (const auto& [name, list] : inputs_of(tensors)) {
    const bool of_step = name == "sample" || name == "timestep";
    inputs[name] = {Value(list.front().tensor(), of_step ? Life::step : Life::run)};
  }
  return inputs;
}

TEST(QwenImage21Transformer2DModel, ReadsATextOncePerRun) {
  for (const char* file : {"golden", "golden_masked", "golden_masked_references"}) {
    const char* name = "qwen_image_21_transformer";
    const Tensors t = golden(name, file);
    const Values inputs = qwen21_values(t);
    RunState state;
    // The last block needs no more of the text than its keys.
    EXPECT_EQ(qwen21_attentions(name, state, inputs, t.at("out.sample")), 3 + 2);
    EXPECT_EQ(qwen21_attentions(name, state, inputs, t.at("out.sample")), 3);
  }
  const char* all_times = "qwen_image_21_transformer_all_times";
  const Tensors t = golden(all_times, "golden");
  const Values inputs = qwen21_values(t);
  RunState state;
  for (int step = 0; step < 2; ++step)
    EXPECT_EQ(qwen21_attentions(all_times, state, inputs, t.at("out.sample")), 3 + 2);
}

// What is kept of a text depends on which blocks it went through.
TEST(QwenImage21Transformer2DModel, SkipsABlockForTheTextToo) {
  const char* name = "qwen_image_21_transformer";
  const Tensors whole = golden(name, "golden"), skipped = golden(name, "skipped");
  const Values inputs = qwen21_values(whole);
  SitePlan without;
  without.set("transformer_blocks.1", {});
  RunState state;
  EXPECT_EQ(qwen21_attentions(name, state, inputs, whole.at("out.sample")), 3 + 2);
  EXPECT_EQ(qwen21_attentions(name, state, inputs, skipped.at("out.sample"), &without), 2 + 1);
  EXPECT_EQ(qwen21_attentions(name, state, inputs, whole.at("out.sample")), 3);
}

TEST(QwenImage21Transformer2DModel, RefusesWhatItCannotMake) {
  const nn::NetworkInfo& info = qwen_image21_transformer_2d_model_info();
  auto refused = [&info](const Json& config) {
    return [&info, config] { make<QwenImage21Transformer2DModel>(info, config); };
  };
  EXPECT_THAT(refused({{"axes_dims_rope", {64, 64}}}),
              ThrowsMessage<Unsupported>(HasSubstr("axes_dims_rope")));
  EXPECT_THAT(refused({{"patch_size", 2}}), ThrowsMessage<Unsupported>(HasSubstr("patch_size")));
  EXPECT_THAT(refused({{"num_layers", 100000}}),
              ThrowsMessage<Unsupported>(HasSubstr("num_layers")));
  EXPECT_THAT(refused({{"more_layers", 1}}), ThrowsMessage<Unsupported>(HasSubstr("more_layers")));
}

TEST(QwenImage21Originals, HoldTheSameTransformerAsAFolder) {
  const OriginalFile original(qwen21_folder);
  expect_weights_of_folder(original);
  expect_written_as_read(original);
}

TEST(QwenImage21Originals, TellTheirConfig) {
  auto network = make_network(
      read_json(source_path("tests/data/configs/qwen-image-2.1/transformer/config.json")));
  const nn::FromTensors& told = qwen_image21_transformer_2d_model_info().from_tensors;
  Shapes published;
  for (const Param* param : network->params()) published[param->name] = param->shape;
  const Shapes fused = original_shapes(*network);
  for (const Shapes& shapes : {published, fused})
    expect_same_parameters(*make_network(told.config(shapes, "transformer")), *network);
  EXPECT_EQ(told.layout(published), "qwen_image_21");
  EXPECT_EQ(told.layout(fused), "qwen_image_21_comfy");
  EXPECT_TRUE(told.config({{"img_in.weight", {8, 4}}}, "transformer").is_null());
}

class QwenImage21Lora : public ::testing::TestWithParam<const char*> {};

TEST_P(QwenImage21Lora, ChangesWeightsAsTheReferenceDoes) {
  auto network = make_network(read_json(source_path(qwen21_folder) / "config.json"));
  expect_changes_of_reference(*network, qwen21_folder, GetParam(), 6);
}

INSTANTIATE_TEST_SUITE_P(Layouts, QwenImage21Lora,
                         ::testing::Values("lora_diffusers", "lora_comfy", "lora_kohya"));

}  // namespace
}  // namespace omnirt::testing
