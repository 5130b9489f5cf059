// FLUX.3's transformer, its original layout and its LoRAs against diffusers, over tiny random
// checkpoints (tools/goldens/flux3.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "networks/denoiser_goldens.hpp"
#include "networks/flux3_transformer_2d_model/model.hpp"
#include "networks/originals.hpp"
#include "networks/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* flux3_flow_map = "tests/goldens/networks/flux3_transformer_flow_map";
// fp32 on both sides; what is left comes from the order of additions.
constexpr double flux3_tolerance = 1e-5;

std::unique_ptr<nn::Network> tiny_flux3() {
  return make_network(read_json(source_path(flux3_flow_map) / "config.json"));
}

TEST(Flux3Transformer2DModel, GivesTheReferencesPrediction) {
  expect_predictions_of_cases("flux3_transformer", flux3_tolerance);
}

TEST(Flux3Transformer2DModel, LooksAtReferenceImages) {
  LoadedNetwork loaded = load_case("flux3_transformer");
  Tensors tensors = golden("flux3_transformer", "golden_references");
  Context cx = loaded.context();
  Tensor with = prediction_of(cx, loaded, tensors);
  tensors.erase("in.reference_latents");
  tensors.erase("in.reference_ids");
  EXPECT_GT(difference(prediction_of(cx, loaded, tensors), with), 0.01);
}

// The inputs of a golden as a loop gives them: what no step changes lives as long as the run.
Values flux3_values(const Tensors& tensors) {
  Values inputs;
  for (const auto& [name, list] : inputs_of(tensors)) {
    const bool of_step = name == "sample" || name.ends_with("timestep");
    inputs[name] = {Value(list.front().tensor(), of_step ? Life::step : Life::run)};
  }
  return inputs;
}

// How many blocks of the text's and the reference images' own one call went through.
int64_t own_blocks(const LoadedNetwork& loaded, RunState& state, const Values& inputs,
                   const Tensor& expected) {
  std::vector<OpRecord> trace;
  Context cx = loaded.context({.state = &state, .trace = &trace});
  for (const auto& [name, list] : inputs) cx.know(list.front());
  EXPECT_LT(difference(loaded.as<nn::DenoiserNetwork>().predict(cx, inputs), expected),
            flux3_tolerance);
  return std::ranges::count_if(trace, [](const OpRecord& record) {
    return record.op == "attention" && (record.segment.starts_with("txt_mode_blocks.") ||
                                        record.segment.starts_with("mode_blocks.image_cond."));
  });
}

// What no timestep changes, a text's and reference images' tokens after blocks of their own, is
// made once per run; a flow map's depend on where the step ends.
TEST(Flux3Transformer2DModel, SendsTextAndReferencesThroughTheirBlocksOncePerRun) {
  for (const char* name : {"flux3_transformer", "flux3_transformer_flow_map"}) {
    SCOPED_TRACE(name);
    const bool flow_map = std::string(name).ends_with("flow_map");
    LoadedNetwork loaded = load_case(name);
    Tensors tensors = golden(name, "golden_references");
    const Values inputs = flux3_values(tensors);
    RunState state;
    EXPECT_EQ(own_blocks(loaded, state, inputs, tensors.at("out.sample")), 4);
    EXPECT_EQ(own_blocks(loaded, state, inputs, tensors.at("out.sample")), flow_map ? 4 : 0);
  }
}

TEST(Flux3Transformer2DModel, IsToldWhereAStepEndsWhereItIsAFlowMap) {
  auto target = [](bool flow_map) {
    auto made = make<Flux3Transformer2DModel>(
        flux3_transformer_2d_model_info(),
        {{"num_layers", 1}, {"num_single_layers", 1}, {"flow_map", flow_map}});
    const auto all = made->inputs();
    auto found = std::ranges::find(all, "target_timestep", &nn::NetworkInput::name);
    return found != all.end() && found->required;
  };
  EXPECT_TRUE(target(true));
  EXPECT_FALSE(target(false));
}

TEST(Flux3Transformer2DModel, RefusesWhatItCannotMake) {
  auto refused = [](const Json& config) {
    return [config] { make<Flux3Transformer2DModel>(flux3_transformer_2d_model_info(), config); };
  };
  EXPECT_THAT(refused({{"axes_dims_rope", {64, 64}}}),
              ThrowsMessage<Unsupported>(HasSubstr("4 axes")));
  EXPECT_THAT(refused({{"timestep_channels", 15}}),
              ThrowsMessage<Unsupported>(HasSubstr("timestep_channels")));
  EXPECT_THAT(refused({{"guidance_embeds", true}}),
              ThrowsMessage<Unsupported>(HasSubstr("guidance_embeds")));
}

TEST(Flux3Originals, HoldTheSameWeightsAsAFolderAndAreWrittenAsTheyWereRead) {
  OriginalFile original(flux3_flow_map);
  EXPECT_EQ(original.store->all().size(), expect_weights_of_folder(original).size());
  expect_written_as_read(original);
}

TEST(Flux3Originals, TellTheConfigOfTheReferencesClass) {
  const nn::FromTensors& told = flux3_transformer_2d_model_info().from_tensors;
  for (bool flow_map : {false, true}) {
    auto network =
        make_network({{"_class_name", "Flux3Transformer2DModel"}, {"flow_map", flow_map}});
    const Shapes shapes = original_shapes(*network);
    EXPECT_EQ(shapes.at("txt_in.weight"), (std::vector<int64_t>{3072, 20480}));
    EXPECT_EQ(told.config(shapes, "components.transformer").at("flow_map"), Json(flow_map));
    expect_same_parameters(*make_network(told.config(shapes, "components.transformer")), *network);
  }
}

TEST(Flux3Originals, AreKnownByNamesAndRefusedWhereShapesDoNotTellTheHeads) {
  const nn::FromTensors& told = flux3_transformer_2d_model_info().from_tensors;
  EXPECT_TRUE(told.config({{"img_in.weight", {8, 4}}}, "components.transformer").is_null());
  EXPECT_THAT([&] { told.config(original_shapes(*tiny_flux3()), "components.transformer"); },
              ThrowsMessage<Unsupported>(HasSubstr("another width than 128")));
}

class Flux3Lora : public ::testing::TestWithParam<const char*> {};

TEST_P(Flux3Lora, ChangesWeightsAsTheReferenceDoes) {
  expect_changes_of_reference(*tiny_flux3(), flux3_flow_map, GetParam(), 5);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Flux3Lora, ::testing::Values("lora_diffusers", "lora_original"));

}  // namespace
}  // namespace omnirt::testing
