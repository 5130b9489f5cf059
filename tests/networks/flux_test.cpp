// FLUX.1's transformer against diffusers, over tiny random checkpoints (tools/goldens/flux.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/denoiser_goldens.hpp"
#include "networks/flux_transformer_2d_model/model.hpp"
#include "networks/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr double flux_tolerance = 1e-5;  // fp32 on both sides
// Frequencies of the sinusoids are exponentials whose last bit differs between processors, and the
// guidance scale goes up to 4000: the reference's own results on two of them differ by 1.03e-5.
constexpr double guidance_tolerance = 2e-5;

TEST(FluxTransformer2DModel, GivesTheReferencesPrediction) {
  for (const std::string& name : cases("flux_transformer")) {
    const bool guided = name == "flux_transformer_guidance";
    for (bool channels_last : {false, true})
      expect_predictions(load_case(name, {at::kFloat, channels_last}), name,
                         guided ? guidance_tolerance : flux_tolerance);
  }
}

TEST(FluxTransformer2DModel, LooksAtReferenceImages) {
  LoadedNetwork loaded = load_case("flux_transformer");
  Tensors tensors = golden("flux_transformer", "golden_references");
  Context cx = loaded.context();
  Tensor with = prediction_of(cx, loaded, tensors);
  tensors.erase("in.reference_latents");
  tensors.erase("in.reference_ids");
  EXPECT_GT(difference(prediction_of(cx, loaded, tensors), with), 0.01);
}

TEST(FluxTransformer2DModel, TakesTheGuidanceScaleWhereItWasDistilledOfGuidedModels) {
  auto names = [](bool guided) {
    std::vector<std::string> all;
    auto made = make<FluxTransformer2DModel>(
        flux_transformer_2d_model_info(),
        {{"num_layers", 1}, {"num_single_layers", 1}, {"guidance_embeds", guided}});
    EXPECT_EQ(made->takes_guidance_scale(), guided);
    for (const auto& input : made->inputs()) all.push_back(input.name);
    return all;
  };
  EXPECT_THAT(names(true), ::testing::Contains("guidance"));
  EXPECT_THAT(names(false), ::testing::Not(::testing::Contains("guidance")));
}

TEST(FluxTransformer2DModel, CountsChannelsOfLatentsNotOfTokens) {
  auto made = make<FluxTransformer2DModel>(
      flux_transformer_2d_model_info(),
      {{"num_layers", 1}, {"num_single_layers", 1}, {"in_channels", 384}, {"out_channels", 64}});
  EXPECT_EQ(made->in_channels(), 96);
  EXPECT_EQ(made->out_channels(), 16);
}

TEST(FluxTransformer2DModel, RefusesWhatMakesNoHeadsAndNoTokens) {
  auto refused = [](const Json& config) {
    return [config] { make<FluxTransformer2DModel>(flux_transformer_2d_model_info(), config); };
  };
  EXPECT_THAT(refused({{"axes_dims_rope", {64, 64}}}),
              ThrowsMessage<Unsupported>(HasSubstr("3 axes")));
  EXPECT_THAT(refused({{"axes_dims_rope", {16, 56, 54}}}),
              ThrowsMessage<Unsupported>(HasSubstr("128 wide")));
  EXPECT_THAT(refused({{"axes_dims_rope", {15, 57, 56}}}),
              ThrowsMessage<Unsupported>(HasSubstr("turn together")));
  EXPECT_THAT(refused({{"in_channels", 63}}), ThrowsMessage<Unsupported>(HasSubstr("2x2 latents")));
}

}  // namespace
}  // namespace omnirt::testing
