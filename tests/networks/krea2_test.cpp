// Krea 2's transformer and its LoRAs against diffusers, over tiny random checkpoints
// (tools/goldens/krea2.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/kernels.hpp"
#include "base/error.hpp"
#include "io/safetensors_writer.hpp"
#include "io/temp_folder.hpp"
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

TEST(Krea2Originals, HoldTheSameWeightsAsAFolderAndAreWrittenAsTheyWereRead) {
  OriginalFile original(krea2_folder);
  EXPECT_EQ(original.store->all().size(), expect_weights_of_folder(original).size());
  expect_written_as_read(original);
}

TEST(Krea2Originals, TellThePublishedModelsConfig) {
  const nn::FromTensors& told = krea2_transformer_2d_model_info().from_tensors;
  const auto config = source_path("tests/data/configs/krea-2/transformer/config.json");
  auto network = make_network(read_json(config));
  const Json made = told.config(original_shapes(*network), "components.transformer");
  expect_same_parameters(*make_network(made), *network);
  for (const auto& [key, value] : made.items()) EXPECT_EQ(value, read_json(config)[key]) << key;
}

TEST(Krea2Originals, AreKnownByNamesAndRefusedWhereShapesDoNotTellTheAxes) {
  const nn::FromTensors& told = krea2_transformer_2d_model_info().from_tensors;
  EXPECT_TRUE(told.config({{"first.weight", {8, 4}}}, "components.transformer").is_null());
  auto tiny = make_network(read_json(source_path(krea2_folder) / "config.json"));
  EXPECT_THAT([&] { told.config(original_shapes(*tiny), "components.transformer"); },
              ThrowsMessage<Unsupported>(HasSubstr("16 or more")));
}

void write_tensors(const std::filesystem::path& path, const Tensors& tensors) {
  std::vector<io::TensorSource> sources;
  for (const auto& [name, tensor] : tensors) {
    const Tensor numbers = tensor.to(at::kHalf).contiguous();
    sources.push_back(
        {name, io::Dtype::f16, tensor.sizes().vec(), [numbers](const auto& emit) {
           emit({static_cast<const std::byte*>(numbers.data_ptr()), numbers.nbytes()});
         }});
  }
  io::stream_safetensors(path, sources);
}

// ggml's own writers keep no sizes of 1 in front; some repacked files hold two matrices more.
TEST(Krea2Originals, AreReadAsOtherProgramsWriteThem) {
  OriginalFile original(krea2_folder);
  Tensors tensors = read_tensors(original.folder / "original.safetensors");
  Tensor& projector = tensors.at("txtfusion.projector.weight");
  projector = projector.flatten();
  tensors["last.up.weight"] = tensors["last.down.weight"] = at::zeros({2, 2});
  TempFolder temp;
  write_tensors(temp / "repacked.safetensors", tensors);
  auto file = io::TensorFiles::open_file(temp / "repacked.safetensors");
  auto store = open_original_weights(file, *original.network, original.layout, "", "repacked");
  for (const auto& [name, weight] : original.store->all())
    EXPECT_TRUE(weight->view().equal(store->all().at(name)->view())) << name;
  tensors["last.linear.bias"] = tensors["last.linear.bias"].unsqueeze(0);
  write_tensors(temp / "wrong.safetensors", tensors);
  EXPECT_THAT(
      [&] {
        open_original_weights(io::TensorFiles::open_file(temp / "wrong.safetensors"),
                              *original.network, original.layout, "", "wrong");
      },
      ThrowsMessage<WeightMismatch>(HasSubstr("last.linear.bias")));
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
