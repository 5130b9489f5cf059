// T5 and PixArt against transformers and diffusers, over tiny random checkpoints
// (tools/goldens/pixart.py).
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/pixart_transformer_2d_model/model.hpp"
#include "networks/support.hpp"
#include "networks/t5_encoder_model/model.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// fp32 on both sides; what is left comes from the order of additions.
constexpr double tolerance = 1e-5;

template <class Check>
void each_golden(const std::string& case_prefix, Check check) {
  for (const std::string& name : cases(case_prefix)) {
    for (bool channels_last : {false, true}) {
      LoadedNetwork loaded = load_case(name, {at::kFloat, channels_last});
      for (const std::string& file : files(name, "golden")) {
        SCOPED_TRACE(name + "/" + file + (channels_last ? ", channels-last" : ""));
        check(loaded, golden(name, file));
      }
    }
  }
}

Tensor encoded(Context& cx, const LoadedNetwork& loaded, const Tensors& tensors) {
  auto mask = tensors.find("in.mask");
  return loaded.as<T5EncoderModel>().forward(cx, tensors.at("in.input_ids"),
                                             mask == tensors.end() ? nullptr : &mask->second);
}

Tensor predicted(Context& cx, const LoadedNetwork& loaded, const Tensors& tensors) {
  return loaded.as<PixArtTransformer2DModel>().predict(cx, inputs_of(tensors));
}

// A dry forward calls the same ops with the same shapes as the real one.
void expect_same_when_dry(const LoadedNetwork& loaded, const Tensors& tensors,
                          Tensor (*run)(Context&, const LoadedNetwork&, const Tensors&)) {
  std::vector<OpRecord> real_trace, dry_trace;
  Context real = loaded.context({.trace = &real_trace});
  Context dry = loaded.context({.dry = true, .trace = &dry_trace});
  Tensor expected = run(real, loaded, tensors), actual = run(dry, loaded, tensors);
  EXPECT_EQ(actual.sizes(), expected.sizes());
  EXPECT_EQ(actual.scalar_type(), expected.scalar_type());
  ASSERT_EQ(dry_trace.size(), real_trace.size());
  for (size_t i = 0; i < dry_trace.size(); ++i) {
    EXPECT_EQ(dry_trace[i].op, real_trace[i].op);
    EXPECT_EQ(dry_trace[i].output, real_trace[i].output) << dry_trace[i].op;
  }
}

TEST(T5EncoderModel, GivesTheReferencesStates) {
  each_golden("t5_", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    Context cx = loaded.context();
    EXPECT_LT(difference(encoded(cx, loaded, tensors), tensors.at("out.last_hidden_state")),
              tolerance);
    expect_same_when_dry(loaded, tensors, encoded);
  });
}

TEST(T5EncoderModel, RefusesTokensOutsideItsVocabulary) {
  LoadedNetwork loaded = load_case("t5_v11");
  Context cx = loaded.context();
  EXPECT_THAT(
      [&] {
        loaded.as<T5EncoderModel>().forward(cx, at::zeros({1, 2}, at::kLong) + 300);
      },
      ThrowsMessage<InvalidRequest>(HasSubstr("300")));
}

TEST(PixArtTransformer2DModel, GivesTheReferencesPrediction) {
  each_golden("pixart_", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    Context cx = loaded.context();
    // Some predict a variance, too.
    const int64_t channels = loaded.as<PixArtTransformer2DModel>().out_channels();
    const Tensor noise = tensors.at("out.sample").narrow(1, 0, channels);
    EXPECT_LT(difference(predicted(cx, loaded, tensors), noise), tolerance);
    expect_same_when_dry(loaded, tensors, predicted);
  });
}

TEST(PixArtTransformer2DModel, LeavesTheVarianceAside) {
  LoadedNetwork loaded = load_case("pixart_sigma");
  Tensors tensors = golden("pixart_sigma", "golden");
  Context cx = loaded.context();
  Tensor noise = loaded.as<nn::DenoiserNetwork>().predict(cx, inputs_of(tensors));
  EXPECT_LT(difference(noise, tensors.at("out.sample").narrow(1, 0, 4)), tolerance);
}

TEST(PixArtTransformer2DModel, DoesNotSeePaddingBehindThePrompt) {
  LoadedNetwork loaded = load_case("pixart_sigma");
  Tensors tensors = golden("pixart_sigma", "golden");
  Context cx = loaded.context();
  Tensor before = predicted(cx, loaded, tensors);
  tensors.at("in.encoder_hidden_states")[2].narrow(0, 1, 6) += 3.0;  // one token, six of padding
  EXPECT_TRUE(predicted(cx, loaded, tensors).equal(before));
}

TEST(PixArtTransformer2DModel, TakesTheImagesSizeWhereItWasTrainedSo) {
  auto names = [](const Json& config) {
    std::vector<std::string> all;
    Json full = config;
    full["_class_name"] = "PixArtTransformer2DModel";
    auto network = make_network(full);
    for (const auto& input : dynamic_cast<nn::DenoiserNetwork&>(*network).inputs())
      all.push_back(input.name);
    return all;
  };
  EXPECT_THAT(names({{"sample_size", 128}}), ::testing::Contains("resolution"));
  EXPECT_THAT(names({{"sample_size", 128}, {"use_additional_conditions", false}}),
              ::testing::Not(::testing::Contains("resolution")));
  EXPECT_THAT(names({{"sample_size", 64}}), ::testing::Not(::testing::Contains("aspect_ratio")));
}

TEST(PixArtTransformer2DModel, RefusesTheOtherNetworksOfItsFirstName) {
  Json config = {{"_class_name", "Transformer2DModel"}, {"norm_type", "ada_norm_zero"}};
  EXPECT_THAT([&] { make_network(config, "transformer"); },
              ThrowsMessage<Unsupported>(HasSubstr("ada_norm_zero")));
}

TEST(PixArtTransformer2DModel, TellsAllThatAConfigAsksForAndIsNotThere) {
  Json config = {{"_class_name", "PixArtTransformer2DModel"},
                 {"attention_type", "gated"},
                 {"norm_type", "layer_norm"}};
  EXPECT_THAT(
      [&] { make_network(config, "transformer"); },
      ThrowsMessage<Unsupported>(::testing::AllOf(HasSubstr("gated"), HasSubstr("layer_norm"))));
}

}  // namespace
}  // namespace omnirt::testing
