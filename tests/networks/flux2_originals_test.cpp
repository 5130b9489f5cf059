// FLUX.2's original layout and its LoRAs against diffusers (tools/goldens/flux2_originals.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/autoencoder_kl_flux2/model.hpp"
#include "networks/flux2_transformer_2d_model/model.hpp"
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

constexpr const char* golden_case = "tests/goldens/networks/flux2_transformer_guidance";

std::unique_ptr<nn::Network> tiny_transformer() {
  return make_network(read_json(source_path(golden_case) / "config.json"));
}

TEST(Flux2Originals, HoldTheSameWeightsAsAFolder) {
  auto network = tiny_transformer();
  auto file = io::TensorFiles::open_file(source_path(golden_case) / "original.safetensors");
  nn::OriginalLayout layout = network->original_layouts().at(0);
  auto store = open_original_weights(file, *network, layout, "", "transformer");
  Tensors expected = read_tensors(source_path(golden_case) / "diffusion_pytorch_model.safetensors");
  ASSERT_EQ(store->all().size(), expected.size());
  for (const auto& [name, weight] : store->all())
    EXPECT_TRUE(weight->view().equal(expected.at(name))) << name;
}

TEST(Flux2Originals, AreWrittenAsTheyWereRead) {
  auto network = tiny_transformer();
  auto file = io::TensorFiles::open_file(source_path(golden_case) / "original.safetensors");
  nn::OriginalLayout layout = network->original_layouts().at(0);
  auto store = open_original_weights(file, *network, layout, "", "transformer");
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

std::map<std::string, std::vector<int64_t>> shapes_of(const Tensors& tensors) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto& [name, tensor] : tensors) shapes[name] = tensor.sizes().vec();
  return shapes;
}

TEST(Flux2Originals, AreKnownByNamesAndRefusedWhereShapesDoNotTellTheHeads) {
  const nn::FromTensors& told = flux2_transformer_2d_model_info().from_tensors;
  EXPECT_TRUE(told.config({{"img_in.weight", {8, 4}}}, "components.transformer").is_null());
  auto shapes = shapes_of(read_tensors(source_path(golden_case) / "original.safetensors"));
  EXPECT_THAT([&] { told.config(shapes, "components.transformer"); },
              ThrowsMessage<Unsupported>(HasSubstr("another width than 128")));
}

// What a file in the network's first original layout holds.
std::map<std::string, std::vector<int64_t>> original_shapes(const nn::Network& network) {
  nn::OriginalLayout layout = network.original_layouts().at(0);
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const Param* param : network.params()) {
    auto place = nn::original_place(layout, *param);
    EXPECT_TRUE(place) << param->name;
    if (place) shapes[place->name] = place->shape;
  }
  return shapes;
}

void expect_same_parameters(const nn::Network& made, const nn::Network& wanted) {
  ASSERT_EQ(made.params().size(), wanted.params().size());
  for (size_t i = 0; i < made.params().size(); ++i) {
    EXPECT_EQ(made.params()[i]->name, wanted.params()[i]->name);
    EXPECT_EQ(made.params()[i]->shape, wanted.params()[i]->shape);
  }
}

// The config of a published model, told from what its file in the original layout holds.
TEST(Flux2Originals, OfStockModelsHaveTheirConfigs) {
  for (const char* model : {"flux2-klein-4b", "flux2-klein-9b", "flux2-dev"}) {
    SCOPED_TRACE(model);
    Json config = read_json(source_path("tests/data/configs") / model / "transformer/config.json");
    auto network = make_network(config);
    const nn::FromTensors& told = flux2_transformer_2d_model_info().from_tensors;
    Json made = told.config(original_shapes(*network), "components.transformer");
    ASSERT_FALSE(made.is_null());
    auto same = make_network(made);
    expect_same_parameters(*same, *network);
    EXPECT_EQ(dynamic_cast<nn::DenoiserNetwork&>(*same).takes_guidance_scale(),
              dynamic_cast<nn::DenoiserNetwork&>(*network).takes_guidance_scale());
  }
}

constexpr const char* vae_case = "tests/goldens/networks/flux2_vae";

TEST(Flux2Originals, HoldTheSameAutoencoderAsAFolder) {
  auto network = make_network(read_json(source_path(vae_case) / "config.json"));
  auto file = io::TensorFiles::open_file(source_path(vae_case) / "original.safetensors");
  auto store = open_original_weights(file, *network, network->original_layouts().at(0), "", "vae");
  Tensors expected = read_tensors(source_path(vae_case) / "diffusion_pytorch_model.safetensors");
  ASSERT_EQ(store->all().size(), network->params().size());
  for (const auto& [name, weight] : store->all())
    EXPECT_TRUE(weight->view().equal(expected.at(name))) << name;
}

// Told from names and shapes, of autoencoders with the original's groups of 32 channels.
TEST(Flux2Originals, OfAutoencodersTellTheirConfigs) {
  const nn::FromTensors& told = autoencoder_kl_flux2_info().from_tensors;
  for (const Json& changes :
       {Json::object(), Json{{"decoder_block_out_channels", {64, 96, 96, 128}},
                             {"use_quant_conv", false},
                             {"mid_block_add_attention", false}}}) {
    SCOPED_TRACE(changes.dump());
    Json config = {{"_class_name", "AutoencoderKLFlux2"}};
    config.update(changes);
    auto network = make_network(config);
    auto same = make_network(told.config(original_shapes(*network), "components.vae"));
    expect_same_parameters(*same, *network);
  }
}

TEST(Flux2Originals, OfAutoencodersAreRefusedWhereShapesDoNotTellTheGroups) {
  const nn::FromTensors& told = autoencoder_kl_flux2_info().from_tensors;
  EXPECT_TRUE(told.config({{"encoder.conv_in.weight", {8, 3, 3, 3}}}, "components.vae").is_null());
  auto shapes = shapes_of(read_tensors(source_path(vae_case) / "original.safetensors"));
  EXPECT_THAT([&] { told.config(shapes, "components.vae"); },
              ThrowsMessage<Unsupported>(HasSubstr("groups of 32")));
}

class Flux2Lora : public ::testing::TestWithParam<const char*> {};

TEST_P(Flux2Lora, ChangesWeightsAsTheReferenceDoes) {
  auto network = tiny_transformer();
  std::vector<adapters::Targets> targets;
  targets.emplace_back("transformer", *network, /*denoiser=*/true);
  auto path = source_path(golden_case) / (std::string(GetParam()) + ".safetensors");
  adapters::AdapterFile file = adapters::open_adapter(path, "", "adapters[0]");
  adapters::ResolveOptions options;
  options.field = "adapters[0]";
  adapters::Resolution resolved = adapters::resolve(file, targets, options);
  EXPECT_TRUE(resolved.findings.empty());
  std::map<std::string, Tensor> made;
  for (const adapters::LayerChange& change : resolved.changes) {
    made[change.param->name] = adapters::delta(change);
    auto beside = adapters::side_term(change);
    EXPECT_EQ(beside.has_value(), change.kind == "lora");
    if (!beside) continue;
    Tensor product = beside->up.matmul(beside->down) * beside->scale;
    EXPECT_LT(difference(product, made[change.param->name]), 1e-6) << change.param->name;
  }
  Tensors expected =
      read_tensors(source_path(golden_case) / (std::string(GetParam()) + "_deltas.safetensors"));
  for (const auto& [layer, delta] : expected) {
    ASSERT_TRUE(made.contains(layer + ".weight")) << layer;
    EXPECT_LT(difference(made.at(layer + ".weight"), delta), 1e-6) << layer;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Flux2Lora,
                         ::testing::Values("lora_diffusers", "lora_ai_toolkit", "lora_expanded",
                                           "lora_kohya"));
INSTANTIATE_TEST_SUITE_P(KroneckerProducts, Flux2Lora,
                         ::testing::Values("lokr_original", "lokr_lycoris"));

}  // namespace
}  // namespace omnirt::testing
