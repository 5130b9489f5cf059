// Z-Image's original layout and its adapters against diffusers
// (tools/goldens/z_image_originals.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/support.hpp"
#include "networks/z_image_transformer_2d_model/model.hpp"
#include "tensor/weight.hpp"
#include "weights/adapters/layer_change.hpp"
#include "weights/adapters/resolve.hpp"
#include "weights/loader.hpp"
#include "weights/original_weights.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* z_image_case = "tests/goldens/networks/z_image_transformer";

std::unique_ptr<nn::Network> tiny_z_image() {
  return make_network(read_json(source_path(z_image_case) / "config.json"));
}

TEST(ZImageOriginals, HoldTheSameWeightsAsAFolderAndAreWrittenAsTheyWereRead) {
  auto network = tiny_z_image();
  auto file = io::TensorFiles::open_file(source_path(z_image_case) / "original.safetensors");
  nn::OriginalLayout layout = network->original_layouts().at(0);
  auto store = open_original_weights(file, *network, layout, "", "transformer");
  Tensors expected =
      read_tensors(source_path(z_image_case) / "diffusion_pytorch_model.safetensors");
  ASSERT_EQ(store->all().size(), expected.size());
  for (const auto& [name, weight] : store->all())
    EXPECT_TRUE(weight->view().equal(expected.at(name))) << name;
  auto sources = original_tensors(*store, *network, layout, "");
  EXPECT_EQ(sources.size(), file.names().size());
  for (const io::TensorSource& source : sources) {
    std::vector<std::byte> bytes;
    source.produce([&](std::span<const std::byte> part) {
      bytes.insert(bytes.end(), part.begin(), part.end());
    });
    auto original = file.find(source.name);
    ASSERT_TRUE(original) << source.name;
    EXPECT_TRUE(std::ranges::equal(bytes, original->data())) << source.name;
  }
}

std::map<std::string, std::vector<int64_t>> z_image_original_shapes(const nn::Network& network) {
  nn::OriginalLayout layout = network.original_layouts().at(0);
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const Param* param : network.params()) {
    auto place = nn::original_place(layout, *param);
    EXPECT_TRUE(place) << param->name;
    if (place) shapes[place->name] = place->shape;
  }
  return shapes;
}

TEST(ZImageOriginals, TellThePublishedModelsConfig) {
  Json config = read_json(source_path("tests/data/configs/z-image-turbo/transformer/config.json"));
  auto network = make_network(config);
  const nn::FromTensors& told = z_image_transformer_2d_model_info().from_tensors;
  auto same =
      make_network(told.config(z_image_original_shapes(*network), "components.transformer"));
  ASSERT_EQ(same->params().size(), network->params().size());
  for (size_t i = 0; i < same->params().size(); ++i) {
    EXPECT_EQ(same->params()[i]->name, network->params()[i]->name);
    EXPECT_EQ(same->params()[i]->shape, network->params()[i]->shape);
  }
}

TEST(ZImageOriginals, AreKnownByNamesAndRefusedWhereShapesDoNotTellTheHeads) {
  const nn::FromTensors& told = z_image_transformer_2d_model_info().from_tensors;
  // Lumina 2 has the same names but for the tokens that fill up.
  EXPECT_TRUE(
      told.config({{"x_embedder.weight", {8, 4}}, {"layers.0.attention.qkv.weight", {24, 8}}},
                  "components.transformer")
          .is_null());
  EXPECT_THAT([&] { told.config(z_image_original_shapes(*tiny_z_image()), "transformer"); },
              ThrowsMessage<Unsupported>(HasSubstr("another width than 128")));
}

class ZImageAdapters : public ::testing::TestWithParam<const char*> {};

TEST_P(ZImageAdapters, ChangeWeightsAsTheReferenceDoes) {
  auto network = tiny_z_image();
  std::vector<adapters::Targets> targets;
  targets.emplace_back("transformer", *network, /*denoiser=*/true);
  auto path = source_path(z_image_case) / (std::string(GetParam()) + ".safetensors");
  adapters::AdapterFile file = adapters::open_adapter(path, "", "adapters[0]");
  adapters::ResolveOptions options;
  options.field = "adapters[0]";
  adapters::Resolution resolved = adapters::resolve(file, targets, options);
  EXPECT_TRUE(resolved.findings.empty());
  std::map<std::string, Tensor> made;
  for (const adapters::LayerChange& change : resolved.changes) {
    made[change.param->name] = adapters::delta(change);
    auto beside = adapters::side_term(change);
    if (!beside) continue;
    Tensor product = beside->up.matmul(beside->down) * beside->scale;
    EXPECT_LT(difference(product, made[change.param->name]), 1e-6) << change.param->name;
  }
  Tensors expected =
      read_tensors(source_path(z_image_case) / (std::string(GetParam()) + "_deltas.safetensors"));
  EXPECT_GE(expected.size(), 9U);
  for (const auto& [layer, delta] : expected) {
    ASSERT_TRUE(made.contains(layer + ".weight")) << layer;
    EXPECT_LT(difference(made.at(layer + ".weight"), delta), 1e-6) << layer;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, ZImageAdapters,
                         ::testing::Values("lora_diffusers", "lora_ai_toolkit", "lora_kohya",
                                           "lora_kohya_split", "lokr_ai_toolkit"));

}  // namespace
}  // namespace omnirt::testing
