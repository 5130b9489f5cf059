// FLUX.1's original layout and its LoRAs against diffusers (tools/goldens/flux_originals.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "networks/flux_transformer_2d_model/model.hpp"
#include "networks/originals.hpp"
#include "source_paths.hpp"
#include "weights/adapters/resolve.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* flux_case = "tests/goldens/networks/flux_transformer_guidance";

TEST(FluxOriginals, HoldTheSameWeightsAsAFolder) {
  OriginalFile original(flux_case);
  EXPECT_EQ(original.store->all().size(), expect_weights_of_folder(original).size());
}

// The perceptron's rows, more than those of a projection, among them.
TEST(FluxOriginals, AreWrittenAsTheyWereRead) {
  expect_written_as_read(OriginalFile(flux_case));
}

TEST(FluxOriginals, AreKnownByNamesAndRefusedWhereShapesDoNotTellTheHeads) {
  const nn::FromTensors& told = flux_transformer_2d_model_info().from_tensors;
  EXPECT_TRUE(told.config({{"img_in.weight", {8, 4}}}, "components.transformer").is_null());
  auto shapes = shapes_in(read_tensors(source_path(flux_case) / "original.safetensors"));
  EXPECT_THAT([&] { told.config(shapes, "components.transformer"); },
              ThrowsMessage<Unsupported>(HasSubstr("another width than 128")));
}

// The config of a published model, as its file in the original layout says it.
TEST(FluxOriginals, OfStockModelsHaveTheirConfigs) {
  for (const char* model : {"flux1-schnell", "flux1-dev"}) {
    SCOPED_TRACE(model);
    auto network = make_network(
        read_json(source_path("tests/data/configs") / model / "transformer/config.json"));
    const Shapes shapes = original_shapes(*network);
    EXPECT_EQ(shapes.at("single_blocks.0.linear1.weight"), (std::vector<int64_t>{21504, 3072}));
    const nn::FromTensors& told = flux_transformer_2d_model_info().from_tensors;
    expect_same_parameters(*make_network(told.config(shapes, "components.transformer")), *network);
  }
}

// Whose names the layers have, and in which notation of keys; the network's own row has them all.
TEST(FluxLoras, AreCalledByWhoseNamesTheyHave) {
  auto network = make_network(read_json(source_path(flux_case) / "config.json"));
  std::vector<adapters::Targets> targets;
  targets.emplace_back("transformer", *network, /*denoiser=*/true);
  const nn::Metadata metadata = network->metadata();
  const auto rows = metadata["_lora"].get<std::set<std::string>>();
  for (const auto& [name, layout] : std::map<std::string, std::string>{{"diffusers", "diffusers"},
                                                                       {"kohya", "kohya"},
                                                                       {"comfy", "original"},
                                                                       {"xlabs", "xlabs"},
                                                                       {"bfl", "bfl"},
                                                                       {"kontext", "kontext"}}) {
    const auto path = source_path(flux_case) / ("lora_" + name + ".safetensors");
    const adapters::AdapterFile file = adapters::open_adapter(path, "", "adapters[0]");
    adapters::ResolveOptions options;
    options.field = "adapters[0]";
    EXPECT_EQ(adapters::resolve(file, targets, options).layout, layout) << name;
    EXPECT_TRUE(rows.contains(layout)) << layout;
  }
}

class FluxLora : public ::testing::TestWithParam<const char*> {};

TEST_P(FluxLora, ChangesWeightsAsTheReferenceDoes) {
  auto network = make_network(read_json(source_path(flux_case) / "config.json"));
  expect_changes_of_reference(*network, flux_case, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Layouts, FluxLora,
                         ::testing::Values("lora_diffusers", "lora_kohya", "lora_mixture",
                                           "lora_comfy", "lora_xlabs", "lora_bfl", "lora_kontext"));

}  // namespace
}  // namespace omnirt::testing
