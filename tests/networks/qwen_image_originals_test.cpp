// Qwen-Image's single files and LoRAs against diffusers (tools/goldens/qwen_image_originals.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/autoencoder_kl_qwen_image/model.hpp"
#include "networks/originals.hpp"
#include "networks/qwen2_5_vl_for_conditional_generation/model.hpp"
#include "networks/qwen_image_transformer_2d_model/model.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {

constexpr const char* transformer_case = "tests/goldens/networks/qwen_image_transformer";
constexpr const char* vae_case = "tests/goldens/networks/qwen_image_vae_wan";

std::unique_ptr<nn::Network> stock(const char* component) {
  return make_network(
      read_json(source_path("tests/data/configs/qwen-image") / component / "config.json"));
}

Shapes shapes_in(const nn::Network& network, const nn::OriginalLayout* layout) {
  Shapes shapes;
  for (const Param* param : network.params()) {
    auto place = layout ? nn::original_place(*layout, *param) : std::nullopt;
    if (!layout)
      shapes[param->name] = param->shape;
    else if (place)
      shapes[place->name] = place->shape;
  }
  return shapes;
}

TEST(QwenImageOriginals, HoldTheSameAutoencoderAsAFolder) {
  expect_weights_of_folder(OriginalFile(vae_case));
}

TEST(QwenImageOriginals, OfTheStockAutoencoderTellItsConfig) {
  auto network = stock("vae");
  nn::OriginalLayout layout = network->original_layouts().at(0);
  const nn::FromTensors& told = autoencoder_kl_qwen_image_info().from_tensors;
  expect_same_parameters(*make_network(told.config(shapes_in(*network, &layout), "vae")), *network);
  EXPECT_TRUE(told.config({{"encoder.conv1.weight", {8, 3, 3, 3, 3}}}, "vae").is_null());
}

// Files of the transformer, GGUF among them, have the reference's names.
TEST(QwenImageOriginals, OfTheStockTransformerTellItsConfig) {
  auto network = stock("transformer");
  const nn::FromTensors& told = qwen_image_transformer_2d_model_info().from_tensors;
  expect_same_parameters(*make_network(told.config(shapes_in(*network, nullptr), "transformer")),
                         *network);
  EXPECT_TRUE(told.config({{"img_in.weight", {8, 4}}}, "transformer").is_null());
}

// As files of today name them: a layout of the language model alone, and all of it.
TEST(QwenImageOriginals, OfTheStockTextEncoderTellItsConfig) {
  auto network = stock("text_encoder");
  const nn::FromTensors& told = qwen2_5_vl_for_conditional_generation_info().from_tensors;
  Shapes files;
  for (const auto& [name, shape] : shapes_in(*network, nullptr)) {
    std::string in_file = name;
    for (const char* prefix : {"model.visual.", "model.language_model."}) {
      if (!name.starts_with(prefix)) continue;
      in_file = (name.starts_with("model.visual.") ? "visual." : "model.") +
                name.substr(std::string(prefix).size());
    }
    files[in_file] = shape;
  }
  expect_same_parameters(*make_network(told.config(files, "text_encoder")), *network);
  nn::OriginalLayout llama = network->original_layouts().at(0);
  Shapes blocks = shapes_in(*network, &llama);
  EXPECT_EQ(told.layout(blocks), "llama.cpp");
  auto language = make_network(told.config(blocks, "text_encoder"));
  for (const Param* param : language->params())
    EXPECT_TRUE(param->name.starts_with("model.language_model.")) << param->name;
  EXPECT_EQ(language->params().size(), 28U * 12U + 2U);
}

class QwenImageLora : public ::testing::TestWithParam<const char*> {};

TEST_P(QwenImageLora, ChangesWeightsAsTheReferenceDoes) {
  auto network = make_network(read_json(source_path(transformer_case) / "config.json"));
  expect_changes_of_reference(*network, transformer_case, GetParam(), 10);
}

INSTANTIATE_TEST_SUITE_P(Layouts, QwenImageLora,
                         ::testing::Values("lora_diffusers", "lora_ai_toolkit", "lora_lightning",
                                           "lora_kohya", "lora_default"));

}  // namespace
}  // namespace omnirt::testing
