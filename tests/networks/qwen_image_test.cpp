// Qwen-Image's networks against diffusers and transformers, over tiny random checkpoints
// (tools/goldens/qwen_image.py).
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blocks/vision_patches.hpp"
#include "networks/autoencoder_kl_qwen_image/model.hpp"
#include "networks/each_golden.hpp"
#include "networks/qwen2_5_vl_for_conditional_generation/model.hpp"
#include "networks/qwen_image_transformer_2d_model/model.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// fp32 on both sides; what is left comes from the order of additions.
constexpr double tolerance = 1e-5;
// A decoder's convolutions follow each other, some forty: by oneDNN's kernels for SSE4.1 the same
// references differ from those of AVX-512 by 1.2e-5 at its end.
constexpr double decoded_tolerance = 3e-5;

// Of videos, where each frame also reads what earlier ones left: in the case with two channels,
// whose norms divide by vectors near zero, the reference in fp32 is 1.3e-5 from itself in fp64, and
// 6e-6 for images.
constexpr double video_tolerance = 1e-4;

Tensor last_state(Context& cx, const LoadedNetwork& loaded, const Tensors& tensors) {
  auto mask = tensors.find("in.mask");
  Tensor state = loaded.as<Qwen25VLForConditionalGeneration>().last_state(
      cx, tensors.at("in.input_ids"), mask == tensors.end() ? nullptr : &mask->second);
  // What is in the padding is not used.
  return mask == tensors.end() || state.is_meta() ? state : state * mask->second.unsqueeze(2);
}

TEST(Qwen25VL, GivesTheReferencesLastStates) {
  each_golden("qwen2_5_vl", "golden", [](const LoadedNetwork& loaded, const Tensors& t) {
    Call run = [&](Context& cx) { return last_state(cx, loaded, t); };
    Context cx = loaded.context();
    EXPECT_LT(difference(run(cx), t.at("out.last_state")), tolerance);
    expect_same_when_dry(loaded, run);
  });
}

// An image's windows are in another order than the reference has them; its tokens come out in its.
TEST(Qwen25VL, SeesImagesAndReadsPromptsThatLookAtThem) {
  each_golden("qwen2_5_vl", "image", [](const LoadedNetwork& loaded, const Tensors& t) {
    const auto& encoder = loaded.as<Qwen25VLForConditionalGeneration>();
    const blocks::VisionInput input = blocks::vision_input(*encoder.vision(), t.at("in.pixels"));
    Call look = [&](Context& cx) {
      return encoder.image_tokens(cx, input.patches, input.positions, input.windows);
    };
    Context cx = loaded.context();
    const Tensor seen = look(cx);
    EXPECT_LT(difference(seen, t.at("out.image_tokens")), tolerance);
    expect_same_when_dry(loaded, look);
    const Tensor& ids = t.at("in.input_ids");
    const std::vector<nn::ImageSpan> spans{{2, seen.size(1)}};
    EXPECT_EQ(ids[0][2].item<int64_t>(), encoder.image_token_id());
    Call read = [&](Context& c) {
      return encoder.last_state(c, ids, t.at("out.image_tokens"), spans);
    };
    EXPECT_LT(difference(read(cx), t.at("out.last_state")), tolerance);
    expect_same_when_dry(loaded, read);
  });
}

TEST(Qwen25VL, PutsPatchesOfOneWindowTogetherAndWindowsOfOneSize) {
  Qwen25VLVisionConfig config;
  config.patch_size = 4;
  config.window_size = 16;  // two squares per side
  const VisionWindows windows = vision_windows(config, 6, 10);
  const std::vector<std::array<int64_t, 2>> expected{{1, 4}, {3, 8}, {2, 16}};
  EXPECT_EQ(windows.groups, expected);
  EXPECT_EQ(windows.order.size(), 60U);
  // The last square of all is the only one of the smallest window.
  EXPECT_EQ(windows.order.front(), 14 * 4);
  EXPECT_EQ(windows.tokens.back(), 0);
}

TEST(Qwen25VL, RefusesAnIdThatIsNoTokensOwn) {
  LoadedNetwork loaded = load_case("qwen2_5_vl");
  Context cx = loaded.context();
  Tensor ids = at::zeros({1, 2}, at::kLong);
  ids[0][1] = 300;
  EXPECT_THROW(loaded.as<Qwen25VLForConditionalGeneration>().last_state(cx, ids, nullptr),
               InvalidRequest);
}

TEST(Qwen25VL, ReadsTheFieldsOfOlderFilesWhereThereIsNoTextConfig) {
  Json flat = {{"architectures", {"Qwen2_5_VLForConditionalGeneration"}},
               {"hidden_size", 32},
               {"intermediate_size", 40},
               {"num_hidden_layers", 2},
               {"num_attention_heads", 4},
               {"num_key_value_heads", 2},
               {"vocab_size", 50},
               {"rope_theta", 1e6},
               {"rope_scaling", {{"type", "mrope"}, {"mrope_section", {1, 1, 2}}}}};
  auto network =
      make<Qwen25VLForConditionalGeneration>(qwen2_5_vl_for_conditional_generation_info(), flat);
  EXPECT_EQ(network->hidden_size(), 32);
  EXPECT_FALSE(network->model.visual.has_value());
  flat["layer_types"] = {"full_attention", "sliding_attention"};
  EXPECT_THAT([&] { make_network(flat); }, ThrowsMessage<Unsupported>(HasSubstr("layer_types")));
}

TEST(AutoencoderKLQwenImage, GivesTheReferencesNormalisedLatents) {
  each_golden("qwen_image_vae", "golden_encode", [](const LoadedNetwork& loaded, const Tensors& t) {
    const auto& vae = loaded.as<AutoencoderKLQwenImage>();
    auto no_spread = [](at::IntArrayRef shape) { return at::zeros(shape, at::kFloat); };
    Call encode = [&](Context& cx) { return vae.encode(cx, t.at("in.image"), no_spread); };
    Context cx = loaded.context();
    EXPECT_LT(difference(encode(cx), t.at("out.latents")), tolerance);
    nn::DiagonalGaussian moments = vae.distribution(cx, t.at("in.image"));
    EXPECT_LT(difference(moments.mean, t.at("out.mean")), tolerance);
    EXPECT_LT(difference(moments.logvar, t.at("out.logvar")), tolerance);
    expect_same_when_dry(loaded,
                         [&](Context& c) { return vae.distribution(c, t.at("in.image")).mean; });
  });
}

TEST(AutoencoderKLQwenImage, DecodesNormalisedLatentsAsTheReferencesPipeline) {
  each_golden("qwen_image_vae", "golden_decode", [](const LoadedNetwork& loaded, const Tensors& t) {
    const auto& vae = loaded.as<nn::Autoencoder>();
    Call decode = [&](Context& cx) { return vae.decode(cx, t.at("in.latents")); };
    Context cx = loaded.context();
    EXPECT_LT(difference(at::clamp(decode(cx), -1, 1), t.at("out.image")), decoded_tolerance);
    expect_same_when_dry(loaded, decode);
  });
}

using Chunk = std::function<Tensor(Context&, const Tensor& rows, nn::FrameState&)>;

// A video by chunks, of which the first is one row.
Tensor by_chunks(Context& cx, const Tensor& rows, int64_t at_once, const Chunk& chunk) {
  std::vector<Tensor> made;
  nn::FrameState state;
  for (int64_t from = 0; from < rows.size(0);) {
    const int64_t count = from == 0 ? 1 : std::min(at_once, rows.size(0) - from);
    made.push_back(chunk(cx, rows.narrow(0, from, count).contiguous(), state));
    state = nn::FrameState(state.after());
    from += count;
  }
  return at::cat(made);
}

// The reference decodes one latent frame at a time; chunks of any length give the same bits.
TEST(AutoencoderKLQwenImage, DecodesVideosInChunksOfAnyLength) {
  each_golden("qwen_image_vae", "video_decode", [](const LoadedNetwork& loaded, const Tensors& t) {
    const auto& vae = loaded.as<nn::Autoencoder>();
    Chunk chunk = [&](Context& cx, const Tensor& rows, nn::FrameState& state) {
      return vae.decode_frames(cx, rows, state);
    };
    Context cx = loaded.context();
    const Tensor& latents = t.at("in.latents");
    const Tensor one_by_one = by_chunks(cx, latents, 1, chunk);
    EXPECT_LT(difference(at::clamp(one_by_one, -1, 1), t.at("out.frames")), video_tolerance);
    EXPECT_LT(difference(by_chunks(cx, latents, 2, chunk), one_by_one), video_tolerance);
    // The references' sums depend on how many frames they are given.
    if (!loaded.ops.causal_conv3d.kernels().empty() && loaded.binding->form().channels_last) {
      EXPECT_TRUE(by_chunks(cx, latents, 2, chunk).equal(one_by_one));
      EXPECT_TRUE(by_chunks(cx, latents, 3, chunk).equal(one_by_one));
    }
    expect_same_when_dry(loaded, [&](Context& c) { return by_chunks(c, latents, 2, chunk); });
  });
}

TEST(AutoencoderKLQwenImage, EncodesVideosInChunks) {
  each_golden("qwen_image_vae", "video_encode", [](const LoadedNetwork& loaded, const Tensors& t) {
    const auto& vae = loaded.as<nn::Autoencoder>();
    Chunk chunk = [&](Context& cx, const Tensor& rows, nn::FrameState& state) {
      return vae.frame_moments(cx, rows, state);
    };
    Context cx = loaded.context();
    const Tensor& frames = t.at("in.frames");
    const Tensor moments = by_chunks(cx, frames, 4, chunk);
    EXPECT_LT(difference(moments, t.at("out.moments")), tolerance);
    EXPECT_LT(difference(by_chunks(cx, frames, 8, chunk), moments), tolerance);
    const nn::LatentGrid grid = vae.grid(frames.size(3), frames.size(2), 1, frames.size(0));
    EXPECT_EQ(moments.size(0), grid.frames);
    expect_same_when_dry(loaded, [&](Context& c) { return by_chunks(c, frames, 4, chunk); });
  });
}

TEST(AutoencoderKLQwenImage, HasEightPixelsALatentAndMaybeAlpha) {
  const nn::NetworkInfo& info = autoencoder_kl_qwen_image_info();
  auto vae = make<AutoencoderKLQwenImage>(info);
  EXPECT_EQ(vae->latent_channels(), 16);
  EXPECT_EQ(vae->factors().side, 8);
  EXPECT_EQ(vae->factors().frames, 4);
  EXPECT_EQ(vae->grid(64, 32, 2, 17).videos(), (std::vector<int64_t>{2, 5, 16, 4, 8}));
  EXPECT_EQ(vae->image_channels(), 3);
  EXPECT_EQ(make<AutoencoderKLQwenImage>(info, {{"input_channels", 4}})->image_channels(), 4);
  EXPECT_THAT(
      [] {
        make<AutoencoderKLQwenImage>(autoencoder_kl_qwen_image_info(), {{"input_channels", 5}});
      },
      ThrowsMessage<Unsupported>(HasSubstr("input_channels")));
  EXPECT_THAT(
      [] {
        make<AutoencoderKLQwenImage>(autoencoder_kl_qwen_image_info(), {{"z_dim", 8}});
      },
      ThrowsMessage<Unsupported>(HasSubstr("latents_mean")));
}

TEST(QwenImageTransformer2DModel, GivesTheReferencesPrediction) {
  each_golden("qwen_image_transformer", "golden",
              [](const LoadedNetwork& loaded, const Tensors& t) {
                Call predict = [&](Context& cx) {
                  return loaded.as<nn::DenoiserNetwork>().predict(cx, inputs_of(t));
                };
                Context cx = loaded.context();
                EXPECT_LT(difference(predict(cx), t.at("out.sample")), tolerance);
                expect_same_when_dry(loaded, predict);
              });
}

TEST(QwenImageTransformer2DModel, GoesByReferenceImages) {
  LoadedNetwork loaded = load_case("qwen_image_transformer_zero_t");
  Tensors tensors = golden("qwen_image_transformer_zero_t", "golden_references");
  Context cx = loaded.context();
  auto predicted = [&] { return loaded.as<nn::DenoiserNetwork>().predict(cx, inputs_of(tensors)); };
  Tensor with = predicted();
  for (const char* name : {"in.reference_latents", "in.reference_ids", "in.text_start"})
    tensors.erase(name);
  EXPECT_GT(difference(predicted(), with), 0.01);
}

TEST(QwenImageTransformer2DModel, WantsPositionsOfLayersWhereItWasTrainedOnThem) {
  auto wants = [](bool layered) {
    std::vector<std::string> required;
    auto made = make<QwenImageTransformer2DModel>(
        qwen_image_transformer_2d_model_info(),
        {{"num_layers", 1}, {"use_layer3d_rope", layered}, {"use_additional_t_cond", layered}});
    EXPECT_EQ(made->takes_layers(), layered);
    for (const nn::NetworkInput& each : made->inputs())
      if (each.required) required.push_back(each.name);
    return required;
  };
  using ::testing::Contains;
  EXPECT_THAT(wants(true), ::testing::AllOf(Contains("sample_ids"), Contains("additional_t_cond")));
  EXPECT_THAT(wants(false), ::testing::Not(Contains("sample_ids")));
}

TEST(QwenImageTransformer2DModel, RefusesWhatItCannotComputeByName) {
  auto refused = [](const Json& values) {
    return [values] {
      make<QwenImageTransformer2DModel>(qwen_image_transformer_2d_model_info(), values);
    };
  };
  EXPECT_THAT(refused({{"axes_dims_rope", {64, 64}}}),
              ThrowsMessage<Unsupported>(HasSubstr("3 axes")));
  EXPECT_THAT(refused({{"axes_dims_rope", {16, 56, 54}}}),
              ThrowsMessage<Unsupported>(HasSubstr("128 wide")));
  EXPECT_THAT(refused({{"guidance_embeds", true}}),
              ThrowsMessage<Unsupported>(HasSubstr("guidance_embeds")));
  EXPECT_THAT(refused({{"in_channels", 66}}), ThrowsMessage<Unsupported>(HasSubstr("in_channels")));
}

}  // namespace
}  // namespace omnirt::testing
