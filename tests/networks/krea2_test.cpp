// Krea 2's transformer and its LoRAs against diffusers, over tiny random checkpoints
// (tools/goldens/krea2.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/kernels.hpp"
#include "networks/denoiser_goldens.hpp"
#include "networks/krea2_transformer_2d_model/model.hpp"
#include "networks/originals.hpp"
#include "networks/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* krea2_folder = "tests/goldens/networks/krea2_transformer";
// fp32 on both sides; what is left comes from the order of additions.
constexpr double krea2_tolerance = 1e-5;

TEST(Krea2Transformer2DModel, GivesTheReferencesPrediction) {
  for (const std::string& name : cases("krea2_transformer")) {
    for (bool kernels : {false, true}) {
      LoadedNetwork loaded = load_case(name, {at::kFloat, /*channels_last=*/kernels});
      if (kernels) cpu::add_kernels(loaded.ops);
      SCOPED_TRACE(kernels ? "by the processor's kernels" : "by the references");
      expect_predictions(loaded, name, krea2_tolerance);
    }
  }
}

TEST(Krea2Transformer2DModel, TakesOneTimestepForAllRows) {
  LoadedNetwork loaded = load_case("krea2_transformer");
  Tensors tensors = golden("krea2_transformer", "golden");
  tensors["in.timestep"].fill_(570.857);
  Context cx = loaded.context();
  Tensor each = prediction_of(cx, loaded, tensors);
  tensors["in.timestep"] = tensors["in.timestep"].narrow(0, 0, 1);
  EXPECT_LT(difference(prediction_of(cx, loaded, tensors), each), krea2_tolerance);
}

TEST(Krea2Transformer2DModel, RefusesWhatItCannotMake) {
  auto refused = [](const Json& config) {
    return [config] { make<Krea2Transformer2DModel>(krea2_transformer_2d_model_info(), config); };
  };
  EXPECT_THAT(refused({{"axes_dims_rope", {64, 64}}}),
              ThrowsMessage<Unsupported>(HasSubstr("axes_dims_rope")));
  EXPECT_THAT(refused({{"in_channels", 30}}), ThrowsMessage<Unsupported>(HasSubstr("in_channels")));
  EXPECT_THAT(refused({{"num_key_value_heads", 5}}),
              ThrowsMessage<Unsupported>(HasSubstr("num_key_value_heads")));
  EXPECT_THAT(refused({{"num_layers", 100000}}),
              ThrowsMessage<Unsupported>(HasSubstr("num_layers")));
}

class Krea2Lora : public ::testing::TestWithParam<const char*> {};

TEST_P(Krea2Lora, ChangesWeightsAsTheReferenceDoes) {
  auto network = make_network(read_json(source_path(krea2_folder) / "config.json"));
  expect_changes_of_reference(*network, krea2_folder, GetParam(), 15);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Krea2Lora,
                         ::testing::Values("lora_diffusers", "lora_comfy", "lora_ai_toolkit"));

}  // namespace
}  // namespace omnirt::testing
