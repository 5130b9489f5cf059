// FLUX.2's networks against diffusers, over tiny random checkpoints (tools/goldens/flux2.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "networks/autoencoder_kl_flux2/model.hpp"
#include "networks/autoencoder_tiny/model.hpp"
#include "networks/flux2_transformer_2d_model/model.hpp"
#include "networks/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// fp32 on both sides; what is left comes from the order of additions.
constexpr double tolerance = 1e-5;

template <class Check>
void each_golden(const std::string& case_prefix, const std::string& file_prefix, Check check) {
  for (const std::string& name : cases(case_prefix)) {
    for (bool channels_last : {false, true}) {
      LoadedNetwork loaded = load_case(name, {at::kFloat, channels_last});
      for (const std::string& file : files(name, file_prefix)) {
        SCOPED_TRACE(name + "/" + file + (channels_last ? ", channels-last" : ""));
        check(loaded, golden(name, file));
      }
    }
  }
}

using Call = std::function<Tensor(Context&)>;

// A dry forward calls the same ops with the same shapes as the real one.
void expect_same_when_dry(const LoadedNetwork& loaded, const Call& run) {
  std::vector<OpRecord> real_trace, dry_trace;
  Context real = loaded.context({.trace = &real_trace});
  Context dry = loaded.context({.dry = true, .trace = &dry_trace});
  Tensor expected = run(real), actual = run(dry);
  EXPECT_EQ(actual.sizes(), expected.sizes());
  EXPECT_EQ(actual.scalar_type(), expected.scalar_type());
  ASSERT_EQ(dry_trace.size(), real_trace.size());
  for (size_t i = 0; i < dry_trace.size(); ++i) {
    EXPECT_EQ(dry_trace[i].op, real_trace[i].op);
    EXPECT_EQ(dry_trace[i].output, real_trace[i].output) << dry_trace[i].op;
  }
}

// The autoencoder must not draw.
Tensor no_noise(at::IntArrayRef) {
  throw InternalError("noise was drawn");
}

TEST(AutoencoderKLFlux2, GivesTheReferencesPackedAndNormalisedLatents) {
  each_golden("flux2_vae", "golden_encode", [](const LoadedNetwork& loaded, const Tensors& t) {
    const auto& vae = loaded.as<AutoencoderKLFlux2>();
    Call encode = [&](Context& cx) { return vae.encode(cx, t.at("in.image"), no_noise); };
    Context cx = loaded.context();
    EXPECT_LT(difference(encode(cx), t.at("out.latents")), tolerance);
    nn::DiagonalGaussian moments = vae.distribution(cx, t.at("in.image"));
    EXPECT_LT(difference(moments.mean, t.at("out.mean")), tolerance);
    EXPECT_LT(difference(moments.logvar, t.at("out.logvar")), tolerance);
    expect_same_when_dry(loaded, encode);
  });
}

TEST(AutoencoderKLFlux2, DecodesPackedAndNormalisedLatentsAsTheReferencesPipeline) {
  each_golden("flux2_vae", "golden_decode", [](const LoadedNetwork& loaded, const Tensors& t) {
    const auto& vae = loaded.as<nn::Autoencoder>();
    Call decode = [&](Context& cx) { return vae.decode(cx, t.at("in.latents")); };
    Context cx = loaded.context();
    EXPECT_LT(difference(decode(cx), t.at("out.image")), tolerance);
    expect_same_when_dry(loaded, decode);
  });
}

TEST(AutoencoderKLFlux2, CountsASquareOfItsConvolutionsLatentsAsOne) {
  auto vae = make<AutoencoderKLFlux2>(autoencoder_kl_flux2_info());
  EXPECT_EQ(vae->latent_channels(), 128);
  EXPECT_EQ(vae->factors().side, 16);
}

TEST(AutoencoderKLFlux2, RefusesPatchesThatThePipelineDoesNotKnow) {
  Json config = {{"_class_name", "AutoencoderKLFlux2"}, {"patch_size", {1, 1}}};
  EXPECT_THAT([&] { make_network(config, "vae"); },
              ThrowsMessage<Unsupported>(HasSubstr("patch_size")));
}

TEST(AutoencoderTiny, OfFlux2CountsASquareOfItsConvolutionsLatentsAsOne) {
  auto tiny = make<AutoencoderTiny>(autoencoder_tiny_info(),
                                    {{"arch_variant", "flux_2"}, {"latent_channels", 32}});
  EXPECT_EQ(tiny->latent_channels(), 128);
  EXPECT_EQ(tiny->factors().side, 16);
  Json unknown = {{"_class_name", "AutoencoderTiny"}, {"arch_variant", "flux_3"}};
  EXPECT_THAT([&] { make_network(unknown, "vae"); },
              ThrowsMessage<Unsupported>(HasSubstr("arch_variant")));
}

// Files of tiny autoencoders are published without a config.
TEST(AutoencoderTiny, IsToldByTheNamesAndShapesOfAFile) {
  const nn::FromTensors& told = autoencoder_tiny_info().from_tensors;
  for (const std::string& name : cases("tiny_")) {
    SCOPED_TRACE(name);
    LoadedNetwork loaded = load_case(name);
    std::map<std::string, std::vector<int64_t>> shapes;
    for (const Param* param : loaded.network->params()) shapes[param->name] = param->shape;
    auto same = make_network(told.config(shapes, "components.vae"));
    ASSERT_EQ(same->params().size(), shapes.size());
    for (const Param* param : same->params()) EXPECT_EQ(param->shape, shapes[param->name]);
    const auto& vae = loaded.as<nn::Autoencoder>();
    EXPECT_EQ(dynamic_cast<nn::Autoencoder&>(*same).latent_channels(), vae.latent_channels());
  }
  EXPECT_TRUE(told.config({{"encoder.layers.0.weight", {8, 3, 3, 3}}}, "components.vae").is_null());
}

Tensor predicted(Context& cx, const LoadedNetwork& loaded, const Tensors& tensors) {
  return loaded.as<nn::DenoiserNetwork>().predict(cx, inputs_of(tensors));
}

TEST(Flux2Transformer2DModel, GivesTheReferencesPrediction) {
  each_golden("flux2_transformer", "golden", [](const LoadedNetwork& loaded, const Tensors& t) {
    Call predict = [&](Context& cx) { return predicted(cx, loaded, t); };
    Context cx = loaded.context();
    EXPECT_LT(difference(predict(cx), t.at("out.sample")), tolerance);
    expect_same_when_dry(loaded, predict);
  });
}

TEST(Flux2Transformer2DModel, LooksAtReferenceImages) {
  LoadedNetwork loaded = load_case("flux2_transformer");
  Tensors tensors = golden("flux2_transformer", "golden_references");
  Context cx = loaded.context();
  Tensor with = predicted(cx, loaded, tensors);
  tensors.erase("in.reference_latents");
  tensors.erase("in.reference_ids");
  EXPECT_GT(difference(predicted(cx, loaded, tensors), with), 0.01);
}

// Two steps, of which the second finds what the first made of the reference images.
TEST(Flux2Transformer2DModel, KeepsKeysOfReferenceImages) {
  each_golden("flux2_transformer", "kept", [](const LoadedNetwork& loaded, const Tensors& t) {
    Values first;
    for (const auto& [name, list] : inputs_of(t)) {
      const bool of_step = name == "sample" || name == "timestep";
      first[name] = {Value(list.front().tensor(), of_step ? Life::step : Life::run)};
    }
    Values later = first;
    later["timestep"] = {Value(t.at("later.timestep"))};
    RunState state;
    auto ops = [&](const Values& inputs, const Tensor& expected) {
      std::vector<OpRecord> trace;
      Context cx = loaded.context({.state = &state, .trace = &trace});
      for (const auto& [name, list] : inputs) cx.know(list.front());
      EXPECT_LT(difference(loaded.as<nn::DenoiserNetwork>().predict(cx, inputs), expected),
                tolerance);
      return std::ranges::count(trace, std::string("attention"), &OpRecord::op);
    };
    // The last block needs no more of them than their keys and values.
    const auto both = ops(first, t.at("out.sample"));
    const auto alone = ops(later, t.at("later.sample"));
    EXPECT_EQ(both, 2 * alone - 1);
    EXPECT_EQ(ops(first, t.at("out.sample")), alone);
    expect_same_when_dry(loaded, [&](Context& cx) { return predicted(cx, loaded, t); });
  });
}

TEST(Flux2Transformer2DModel, TakesTheGuidanceScaleWhereItWasDistilledOfGuidedModels) {
  auto names = [](const Json& values) {
    std::vector<std::string> all;
    auto made = make<Flux2Transformer2DModel>(flux2_transformer_2d_model_info(), values);
    for (const auto& input : made->inputs()) all.push_back(input.name);
    return all;
  };
  Json small = {{"num_layers", 1}, {"num_single_layers", 1}};
  EXPECT_THAT(names(small), ::testing::Contains("guidance"));
  small["guidance_embeds"] = false;
  EXPECT_THAT(names(small), ::testing::Not(::testing::Contains("guidance")));
}

TEST(Flux2Transformer2DModel, RefusesAxesThatDoNotMakeUpAHead) {
  auto refused = [](const Json& axes) {
    return [axes] {
      make<Flux2Transformer2DModel>(flux2_transformer_2d_model_info(), {{"axes_dims_rope", axes}});
    };
  };
  EXPECT_THAT(refused({32, 32, 32}), ThrowsMessage<Unsupported>(HasSubstr("4 axes")));
  EXPECT_THAT(refused({32, 32, 32, 30}), ThrowsMessage<Unsupported>(HasSubstr("128 wide")));
  EXPECT_THAT(refused({31, 33, 32, 32}), ThrowsMessage<Unsupported>(HasSubstr("turn together")));
}

}  // namespace
}  // namespace omnirt::testing
