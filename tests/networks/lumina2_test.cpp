// Lumina 2's transformer, its original layout and its LoRAs against diffusers, over tiny random
// checkpoints (tools/goldens/lumina2.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/lumina2_transformer_2d_model/model.hpp"
#include "networks/originals.hpp"
#include "networks/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* lumina2_case = "tests/goldens/networks/lumina2_transformer";
// fp32 on both sides; what is left comes from the order of additions.
constexpr double lumina2_tolerance = 1e-5;

Tensor lumina2_prediction(Context& cx, const LoadedNetwork& loaded, const Tensors& tensors) {
  return loaded.as<nn::DenoiserNetwork>().predict(cx, inputs_of(tensors));
}

std::unique_ptr<nn::Network> tiny_lumina2() {
  return make_network(read_json(source_path(lumina2_case) / "config.json"));
}

TEST(Lumina2Transformer2DModel, GivesTheReferencesPrediction) {
  for (const std::string& name : cases("lumina2_transformer")) {
    for (bool channels_last : {false, true}) {
      LoadedNetwork loaded = load_case(name, {at::kFloat, channels_last});
      for (const std::string& file : files(name, "golden")) {
        SCOPED_TRACE(name + "/" + file + (channels_last ? ", channels-last" : ""));
        Tensors tensors = golden(name, file);
        std::vector<OpRecord> real_trace, dry_trace;
        Context real = loaded.context({.trace = &real_trace});
        Context dry = loaded.context({.dry = true, .trace = &dry_trace});
        Tensor made = lumina2_prediction(real, loaded, tensors);
        EXPECT_LT(difference(made, tensors.at("out.sample")), lumina2_tolerance);
        EXPECT_EQ(lumina2_prediction(dry, loaded, tensors).sizes(), made.sizes());
        ASSERT_EQ(dry_trace.size(), real_trace.size());
        for (size_t i = 0; i < dry_trace.size(); ++i)
          EXPECT_EQ(dry_trace[i].output, real_trace[i].output) << dry_trace[i].op;
      }
    }
  }
}

TEST(Lumina2Transformer2DModel, RefusesWhatItCannotMake) {
  auto refused = [](const Json& config) {
    return
        [config] { make<Lumina2Transformer2DModel>(lumina2_transformer_2d_model_info(), config); };
  };
  EXPECT_THAT(refused({{"axes_dim_rope", {48, 48}}}),
              ThrowsMessage<Unsupported>(HasSubstr("3 axes")));
  EXPECT_THAT(refused({{"axes_dim_rope", {32, 32, 16}}}),
              ThrowsMessage<Unsupported>(HasSubstr("axes_dim_rope")));
  EXPECT_THAT(refused({{"axes_lens", {300, 512}}}),
              ThrowsMessage<Unsupported>(HasSubstr("axes_lens")));
  EXPECT_THAT(refused({{"num_kv_heads", 7}}),
              ThrowsMessage<Unsupported>(HasSubstr("num_kv_heads")));
  EXPECT_THAT(refused({{"ffn_dim_multiplier", 0.0}}),
              ThrowsMessage<Unsupported>(HasSubstr("ffn_dim_multiplier")));
}

TEST(Lumina2Originals, HoldTheSameWeightsAsAFolderAndAreWrittenAsTheyWereRead) {
  OriginalFile original(lumina2_case);
  EXPECT_EQ(original.store->all().size(), expect_weights_of_folder(original).size());
  expect_written_as_read(original);
}

TEST(Lumina2Originals, TellThePublishedModelsConfig) {
  auto network = make_network(
      read_json(source_path("tests/data/configs/lumina-image-2/transformer/config.json")));
  const nn::FromTensors& told = lumina2_transformer_2d_model_info().from_tensors;
  expect_same_parameters(
      *make_network(told.config(original_shapes(*network), "components.transformer")), *network);
}

TEST(Lumina2Originals, AreKnownByNamesAndRefusedWhereShapesDoNotTellTheHeads) {
  const nn::FromTensors& told = lumina2_transformer_2d_model_info().from_tensors;
  // Z-Image has the same names, and tokens that pad.
  EXPECT_TRUE(told.config({{"x_pad_token", {1, 8}},
                           {"cap_embedder.0.weight", {8}},
                           {"layers.0.attention.qkv.weight", {24, 8}}},
                          "components.transformer")
                  .is_null());
  EXPECT_THAT([&] { told.config(original_shapes(*tiny_lumina2()), "components.transformer"); },
              ThrowsMessage<Unsupported>(HasSubstr("another width than 96")));
}

class Lumina2Lora : public ::testing::TestWithParam<const char*> {};

TEST_P(Lumina2Lora, ChangesWeightsAsTheReferenceDoes) {
  expect_changes_of_reference(*tiny_lumina2(), lumina2_case, GetParam(), 10);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Lumina2Lora, ::testing::Values("lora_diffusers", "lora_comfy"));

}  // namespace
}  // namespace omnirt::testing
