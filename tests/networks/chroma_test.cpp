// Chroma's transformer, its original layout and its LoRAs against diffusers, over tiny random
// checkpoints (tools/goldens/chroma.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/chroma_transformer_2d_model/model.hpp"
#include "networks/denoiser_goldens.hpp"
#include "networks/originals.hpp"
#include "networks/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* chroma_case = "tests/goldens/networks/chroma_transformer";
// fp32 on both sides; what is left comes from the order of additions.
constexpr double chroma_tolerance = 1e-5;

std::unique_ptr<nn::Network> tiny_chroma() {
  return make_network(read_json(source_path(chroma_case) / "config.json"));
}

TEST(ChromaTransformer2DModel, GivesTheReferencesPrediction) {
  expect_predictions_of_cases("chroma_transformer", chroma_tolerance);
}

// What all rows of a batch have alike, the timestep, is computed with once.
TEST(ChromaTransformer2DModel, MakesTheModulationsOfOneTimestepOnce) {
  LoadedNetwork loaded = load_case("chroma_transformer");
  Tensors tensors = golden("chroma_transformer", "golden");
  tensors["in.timestep"].fill_(570.857);
  Context cx = loaded.context();
  Tensor each = prediction_of(cx, loaded, tensors);
  tensors["in.timestep"] = tensors["in.timestep"].narrow(0, 0, 1);
  EXPECT_LT(difference(prediction_of(cx, loaded, tensors), each), chroma_tolerance);
}

TEST(ChromaTransformer2DModel, CountsPaddingLessThanTokens) {
  LoadedNetwork loaded = load_case("chroma_transformer");
  Tensors tensors = golden("chroma_transformer", "golden");
  Context cx = loaded.context();
  Tensor with = prediction_of(cx, loaded, tensors);
  tensors.erase("in.encoder_attention_mask");
  EXPECT_GT(difference(prediction_of(cx, loaded, tensors), with), 0.001);
}

TEST(ChromaTransformer2DModel, RefusesWhatItCannotMake) {
  auto refused = [](const Json& config) {
    return [config] { make<ChromaTransformer2DModel>(chroma_transformer_2d_model_info(), config); };
  };
  EXPECT_THAT(refused({{"axes_dims_rope", {64, 64}}}),
              ThrowsMessage<Unsupported>(HasSubstr("3 axes")));
  EXPECT_THAT(refused({{"approximator_num_channels", 62}}),
              ThrowsMessage<Unsupported>(HasSubstr("approximator_num_channels")));
  EXPECT_THAT(refused({{"guidance_embeds", true}}),
              ThrowsMessage<Unsupported>(HasSubstr("guidance_embeds")));
}

TEST(ChromaOriginals, HoldTheSameWeightsAsAFolderAndAreWrittenAsTheyWereRead) {
  OriginalFile original(chroma_case);
  EXPECT_EQ(original.store->all().size(), expect_weights_of_folder(original).size());
  expect_written_as_read(original);
}

TEST(ChromaOriginals, TellThePublishedModelsConfig) {
  auto network =
      make_network(read_json(source_path("tests/data/configs/chroma1-hd/transformer/config.json")));
  const Shapes shapes = original_shapes(*network);
  EXPECT_EQ(shapes.at("distilled_guidance_layer.norms.4.scale"), (std::vector<int64_t>{5120}));
  const nn::FromTensors& told = chroma_transformer_2d_model_info().from_tensors;
  expect_same_parameters(*make_network(told.config(shapes, "components.transformer")), *network);
}

TEST(ChromaOriginals, AreKnownByNamesAndRefusedWhereShapesDoNotTellTheHeads) {
  const nn::FromTensors& told = chroma_transformer_2d_model_info().from_tensors;
  EXPECT_TRUE(told.config({{"img_in.weight", {8, 4}}}, "components.transformer").is_null());
  EXPECT_THAT([&] { told.config(original_shapes(*tiny_chroma()), "components.transformer"); },
              ThrowsMessage<Unsupported>(HasSubstr("another width than 128")));
}

class ChromaLora : public ::testing::TestWithParam<const char*> {};

TEST_P(ChromaLora, ChangesWeightsAsTheReferenceDoes) {
  expect_changes_of_reference(*tiny_chroma(), chroma_case, GetParam(), 13);
}

INSTANTIATE_TEST_SUITE_P(Layouts, ChromaLora,
                         ::testing::Values("lora_diffusers", "lora_kohya", "lora_comfy"));

}  // namespace
}  // namespace omnirt::testing
