// AuraFlow's networks, its original layout and LoRAs against transformers and diffusers, over tiny
// random checkpoints (tools/goldens/aura_flow.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/aura_flow_transformer_2d_model/model.hpp"
#include "networks/denoiser_goldens.hpp"
#include "networks/originals.hpp"
#include "networks/support.hpp"
#include "networks/t5_encoder_model/model.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* aura_flow_case = "tests/goldens/networks/aura_flow_transformer";
// fp32 on both sides; what is left comes from the order of additions.
constexpr double aura_flow_tolerance = 1e-5;

TEST(UMT5EncoderModel, GivesTheReferencesStates) {
  LoadedNetwork loaded = load_case("umt5_encoder");
  EXPECT_EQ(std::string(loaded.as<T5EncoderModel>().class_name()), "UMT5EncoderModel");
  for (const std::string& file : files("umt5_encoder", "golden")) {
    SCOPED_TRACE(file);
    Tensors tensors = golden("umt5_encoder", file);
    Context cx = loaded.context();
    const Tensor& mask = tensors.at("in.mask");
    Tensor states = loaded.as<T5EncoderModel>().forward(cx, tensors.at("in.input_ids"), &mask);
    EXPECT_LT(difference(states * mask.unsqueeze(2), tensors.at("out.hidden_states")),
              aura_flow_tolerance);
  }
}

std::unique_ptr<nn::Network> tiny_aura_flow() {
  return make_network(read_json(source_path(aura_flow_case) / "config.json"));
}

// Of odd numbers of tokens, too: where their middle is the reference's.
TEST(AuraFlowTransformer2DModel, GivesTheReferencesPrediction) {
  expect_predictions_of_cases("aura_flow_transformer", aura_flow_tolerance);
}

TEST(AuraFlowTransformer2DModel, RefusesWhatItCannotMake) {
  auto refused = [](const Json& config) {
    return [config] {
      make<AuraFlowTransformer2DModel>(aura_flow_transformer_2d_model_info(), config);
    };
  };
  EXPECT_THAT(refused({{"pos_embed_max_size", 1000}}),
              ThrowsMessage<Unsupported>(HasSubstr("no square")));
  EXPECT_THAT(refused({{"caption_projection_dim", 2048}}),
              ThrowsMessage<Unsupported>(HasSubstr("3072 wide")));
  EXPECT_THAT(refused({{"patch_size", 0}}), ThrowsMessage<Unsupported>(HasSubstr("patch_size")));
}

TEST(AuraFlowOriginals, HoldTheSameWeightsAsAFolderAndAreWrittenAsTheyWereRead) {
  OriginalFile original(aura_flow_case);
  EXPECT_EQ(original.store->all().size(), expect_weights_of_folder(original).size());
  expect_written_as_read(original);
}

TEST(AuraFlowOriginals, TellThePublishedModelsConfig) {
  auto network =
      make_network(read_json(source_path("tests/data/configs/aura-flow/transformer/config.json")));
  const nn::FromTensors& told = aura_flow_transformer_2d_model_info().from_tensors;
  expect_same_parameters(
      *make_network(told.config(original_shapes(*network), "components.transformer")), *network);
}

TEST(AuraFlowOriginals, AreKnownByNamesAndRefusedWhereShapesDoNotTellTheHeads) {
  const nn::FromTensors& told = aura_flow_transformer_2d_model_info().from_tensors;
  EXPECT_TRUE(told.config({{"init_x_linear.weight", {8, 4}}}, "components.transformer").is_null());
  EXPECT_THAT([&] { told.config(original_shapes(*tiny_aura_flow()), "components.transformer"); },
              ThrowsMessage<Unsupported>(HasSubstr("no multiple of 256")));
}

TEST(AuraFlowLora, ChangesWeightsAsTheReferenceDoes) {
  expect_changes_of_reference(*tiny_aura_flow(), aura_flow_case, "lora_diffusers", 5);
}

}  // namespace
}  // namespace omnirt::testing
