// FLUX.1's original layout and its LoRAs against diffusers (tools/goldens/flux_originals.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/flux_transformer_2d_model/model.hpp"
#include "networks/support.hpp"
#include "tensor/weight.hpp"
#include "weights/adapters/layer_change.hpp"
#include "weights/adapters/resolve.hpp"
#include "weights/loader.hpp"
#include "weights/original_weights.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* flux_case = "tests/goldens/networks/flux_transformer_guidance";

std::unique_ptr<nn::Network> tiny_flux() {
  return make_network(read_json(source_path(flux_case) / "config.json"));
}

struct OriginalFile {
  std::unique_ptr<nn::Network> network = tiny_flux();
  io::TensorFiles file =
      io::TensorFiles::open_file(source_path(flux_case) / "original.safetensors");
  nn::OriginalLayout layout = network->original_layouts().at(0);
  std::shared_ptr<const WeightStore> store =
      open_original_weights(file, *network, layout, "", "transformer");
};

TEST(FluxOriginals, HoldTheSameWeightsAsAFolder) {
  OriginalFile original;
  Tensors expected = read_tensors(source_path(flux_case) / "diffusion_pytorch_model.safetensors");
  ASSERT_EQ(original.store->all().size(), expected.size());
  for (const auto& [name, weight] : original.store->all())
    EXPECT_TRUE(weight->view().equal(expected.at(name))) << name;
}

// The perceptron's rows, more than those of a projection, among them.
TEST(FluxOriginals, AreWrittenAsTheyWereRead) {
  OriginalFile original;
  auto sources = original_tensors(*original.store, *original.network, original.layout, "");
  EXPECT_EQ(sources.size(), original.file.names().size());
  for (const io::TensorSource& source : sources) {
    std::vector<std::byte> bytes;
    source.produce([&](std::span<const std::byte> part) {
      bytes.insert(bytes.end(), part.begin(), part.end());
    });
    auto found = original.file.find(source.name);
    ASSERT_TRUE(found) << source.name;
    EXPECT_EQ(source.shape, found->entry->shape) << source.name;
    EXPECT_TRUE(std::ranges::equal(bytes, found->data())) << source.name;
  }
}

std::map<std::string, std::vector<int64_t>> shapes_in(const Tensors& tensors) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto& [name, tensor] : tensors) shapes[name] = tensor.sizes().vec();
  return shapes;
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
    nn::OriginalLayout layout = network->original_layouts().at(0);
    std::map<std::string, std::vector<int64_t>> shapes;
    for (const Param* param : network->params()) {
      auto place = nn::original_place(layout, *param);
      ASSERT_TRUE(place) << param->name;
      shapes[place->name] = place->shape;
    }
    EXPECT_EQ(shapes.at("single_blocks.0.linear1.weight"), (std::vector<int64_t>{21504, 3072}));
    const nn::FromTensors& told = flux_transformer_2d_model_info().from_tensors;
    auto same = make_network(told.config(shapes, "components.transformer"));
    ASSERT_EQ(same->params().size(), network->params().size());
    for (size_t i = 0; i < same->params().size(); ++i) {
      EXPECT_EQ(same->params()[i]->name, network->params()[i]->name);
      EXPECT_EQ(same->params()[i]->shape, network->params()[i]->shape);
    }
  }
}

class FluxLora : public ::testing::TestWithParam<const char*> {};

TEST_P(FluxLora, ChangesWeightsAsTheReferenceDoes) {
  auto network = tiny_flux();
  std::vector<adapters::Targets> targets;
  targets.emplace_back("transformer", *network, /*denoiser=*/true);
  auto path = source_path(flux_case) / (std::string(GetParam()) + ".safetensors");
  adapters::AdapterFile file = adapters::open_adapter(path, "", "adapters[0]");
  adapters::ResolveOptions options;
  options.field = "adapters[0]";
  adapters::Resolution resolved = adapters::resolve(file, targets, options);
  for (const Finding& finding : resolved.findings)
    ADD_FAILURE() << finding.value << ": " << finding.message << " " << finding.way_out;
  std::map<std::string, Tensor> made;
  for (const adapters::LayerChange& change : resolved.changes) {
    made[change.param->name] = adapters::delta(change);
    auto beside = adapters::side_term(change);
    ASSERT_TRUE(beside.has_value());
    Tensor product = beside->up.matmul(beside->down) * beside->scale;
    EXPECT_LT(difference(product, made[change.param->name]), 1e-6) << change.param->name;
  }
  Tensors expected =
      read_tensors(source_path(flux_case) / (std::string(GetParam()) + "_deltas.safetensors"));
  for (const auto& [layer, delta] : expected) {
    ASSERT_TRUE(made.contains(layer + ".weight")) << layer;
    EXPECT_LT(difference(made.at(layer + ".weight"), delta), 1e-6) << layer;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, FluxLora,
                         ::testing::Values("lora_diffusers", "lora_kohya", "lora_mixture",
                                           "lora_comfy", "lora_xlabs", "lora_bfl", "lora_kontext"));

}  // namespace
}  // namespace omnirt::testing
