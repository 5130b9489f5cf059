// Stable Video Diffusion's networks against diffusers (tools/goldens/svd.py).
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/autoencoder_kl_temporal_decoder/model.hpp"
#include "networks/support.hpp"
#include "networks/unet_spatio_temporal_condition_model/model.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;

// fp32 on both sides, as for the other networks.
constexpr double tolerance = 1e-5;

const std::vector<ComputeForm> forms{{at::kFloat, false}, {at::kFloat, true}};

// Each golden of `component` in both memory layouts, with the network that it belongs to.
template <class Check>
void each_golden(const std::string& component, const std::string& prefix, Check check) {
  size_t seen = 0;
  for (const char* model : {"svd", "svd_flat"}) {
    fs::path folder = source_path("tests/goldens/videos") / model;
    for (const ComputeForm& form : forms) {
      LoadedNetwork loaded = load_folder(folder / "model" / component, form);
      for (const auto& entry : fs::directory_iterator(folder / "networks")) {
        if (!entry.path().filename().string().starts_with(prefix)) continue;
        SCOPED_TRACE(entry.path().string() + (form.channels_last ? ", channels-last" : ""));
        check(loaded, read_tensors(entry.path()));
        ++seen;
      }
    }
  }
  EXPECT_GE(seen, 4u);
}

TEST(UNetSpatioTemporalConditionModel, GivesTheReferencesPrediction) {
  each_golden("unet", "unet", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    Context cx = loaded.context();
    Tensor sample = loaded.as<nn::DenoiserNetwork>().predict(cx, inputs_of(tensors));
    EXPECT_LT(difference(sample, tensors.at("out.sample")), tolerance);
  });
}

TEST(UNetSpatioTemporalConditionModel, TakesTheImageBesideTheLatents) {
  each_golden("unet", "unet", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    Values inputs = inputs_of(tensors);
    auto halves = one(inputs, "sample").chunk(2, 2);
    inputs["sample"] = {halves[0]};
    inputs["image_latents"] = {halves[1]};
    Context cx = loaded.context();
    Tensor sample = loaded.as<nn::DenoiserNetwork>().predict(cx, inputs);
    EXPECT_LT(difference(sample, tensors.at("out.sample")), tolerance);
  });
}

TEST(UNetSpatioTemporalConditionModel, PredictsABatchAsItsVideosAlone) {
  each_golden("unet", "unet.safetensors", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    for (int64_t i = 0; i < 2; ++i) {
      Values inputs = inputs_of(tensors);
      for (auto& [name, list] : inputs) list = {list.front().tensor().narrow(0, i, 1)};
      Context cx = loaded.context();
      Tensor alone = loaded.as<nn::DenoiserNetwork>().predict(cx, inputs);
      EXPECT_LT(difference(alone, tensors.at("out.sample").narrow(0, i, 1)), 2e-5);
    }
  });
}

TEST(UNetSpatioTemporalConditionModel, GivesTheSameOpsWhenDry) {
  each_golden("unet", "unet", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    std::vector<OpRecord> real, planned;
    Context cx = loaded.context({.trace = &real});
    Context dry = loaded.context({.dry = true, .trace = &planned});
    const auto& unet = loaded.as<nn::DenoiserNetwork>();
    Tensor expected = unet.predict(cx, inputs_of(tensors));
    Tensor actual = unet.predict(dry, inputs_of(tensors));
    EXPECT_EQ(actual.sizes(), expected.sizes());
    ASSERT_EQ(real.size(), planned.size());
    for (size_t i = 0; i < real.size(); ++i) {
      EXPECT_EQ(real[i].op, planned[i].op);
      EXPECT_EQ(real[i].output, planned[i].output) << real[i].segment;
    }
  });
}

TEST(UNetSpatioTemporalConditionModel, RefusesAsManyTimeIdsAsItWasNotMadeFor) {
  LoadedNetwork loaded = load_folder(source_path("tests/goldens/videos/svd/model/unet"));
  Context cx = loaded.context();
  Values inputs{{"sample", {at::zeros({1, 2, 8, 4, 4})}},
                {"timestep", {at::zeros({1})}},
                {"encoder_hidden_states", {at::zeros({1, 1, 16})}},
                {"added_time_ids", {at::zeros({1, 2})}}};
  EXPECT_THAT([&] { loaded.as<nn::DenoiserNetwork>().predict(cx, inputs); },
              ::testing::ThrowsMessage<InternalError>(::testing::HasSubstr("time ids")));
}

TEST(AutoencoderKLTemporalDecoder, GivesTheReferencesDistribution) {
  each_golden("vae", "vae_encode", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    Context cx = loaded.context();
    auto latents =
        loaded.as<AutoencoderKLTemporalDecoder>().distribution(cx, tensors.at("in.image"));
    EXPECT_LT(difference(latents.mean, tensors.at("out.mean")), tolerance);
    EXPECT_LT(difference(latents.logvar.clamp(-30, 20), tensors.at("out.logvar")), tolerance);
  });
}

TEST(AutoencoderKLTemporalDecoder, GivesTheModeForNoiseOfZeros) {
  each_golden("vae", "vae_encode", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    Context cx = loaded.context();
    Tensor mode = loaded.as<nn::Autoencoder>().encode(
        cx, tensors.at("in.image"), [](at::IntArrayRef shape) { return at::zeros(shape); });
    EXPECT_LT(difference(mode, tensors.at("out.mean")), tolerance);
  });
}

TEST(AutoencoderKLTemporalDecoder, DecodesTheFramesOfAVideoTogether) {
  each_golden("vae", "vae_decode", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    Context cx = loaded.context();
    Tensor image = loaded.as<nn::Autoencoder>().decode(cx, tensors.at("in.latents"));
    EXPECT_LT(difference(image, tensors.at("out.image")), tolerance);
    Context dry = loaded.context({.dry = true});
    EXPECT_EQ(loaded.as<nn::Autoencoder>().decode(dry, tensors.at("in.latents")).sizes(),
              image.sizes());
  });
}

// What a hostile or half-edited config.json says is refused before a tree is built from it.
void expect_refused(const char* component, const char* key, const Json& value, const char* said) {
  Json config =
      read_json(source_path("tests/goldens/videos/svd/model") / component / "config.json");
  config[key] = value;
  EXPECT_THAT([&] { make_network(config, "here"); },
              ::testing::ThrowsMessage<Unsupported>(::testing::HasSubstr(said)))
      << key;
}

TEST(VideoNetworks, RefuseConfigsThatTheyCannotBe) {
  expect_refused("unet", "block_out_channels", Json::array({32, 33}), "32 groups");
  expect_refused("unet", "num_attention_heads", 5, "num_attention_heads");
  expect_refused("unet", "down_block_types", Json::array({"DownBlock2D", "DownBlock2D"}),
                 "DownBlock2D");
  expect_refused("unet", "projection_class_embeddings_input_dim", 23, "addition_time_embed_dim");
  expect_refused("unet", "layers_per_block", 1000000, "layers_per_block");
  expect_refused("unet", "block_out_channels", Json::array(), "block_out_channels");
  expect_refused("vae", "block_out_channels", Json::array({40, 32}), "32 groups");
  expect_refused("vae", "latent_channels", 0, "latent_channels");
}

}  // namespace
}  // namespace omnirt::testing
