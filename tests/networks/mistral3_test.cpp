// Mistral 3 against transformers, over tiny random checkpoints (tools/goldens/mistral.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/kernels.hpp"
#include "base/error.hpp"
#include "networks/decoder_goldens.hpp"
#include "networks/mistral3_for_conditional_generation/model.hpp"
#include "networks/originals.hpp"
#include "networks/support.hpp"
#include "weights/loader.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// fp32 on both sides; what is left comes from the order of additions.
constexpr double tolerance = 1e-5;

// With padding after the prompt, before it, and none; of files with either names and a vision
// tower.
TEST(Mistral3, GivesTheReferencesStatesOfEachLayer) {
  each_golden_of_cases("mistral3_", [](LoadedNetwork& loaded, const Tensors& tensors) {
    expect_states<Mistral3ForConditionalGeneration>(loaded, tensors, tolerance);
  });
}

TEST(Mistral3, GivesThemByTheProcessorsKernels) {
  each_golden_of_cases("mistral3_", [](LoadedNetwork& loaded, const Tensors& tensors) {
    cpu::add_kernels(loaded.ops);
    expect_states<Mistral3ForConditionalGeneration>(loaded, tensors, tolerance);
  });
}

constexpr const char* llama_case = "tests/goldens/networks/mistral3_shared_heads";

// In llama.cpp's files the values of a head that turn together are side by side.
TEST(Mistral3, GivesThemByWeightsInLlamaNames) {
  OriginalFile original(llama_case);
  LoadedNetwork loaded = load_case("mistral3_shared_heads");
  const std::string query = "model.language_model.layers.1.self_attn.q_proj.weight";
  auto in_file = original.file.find("blk.1.attn_q.weight");
  ASSERT_TRUE(in_file);
  EXPECT_FALSE(original.store->all().at(query)->view().equal(weight_of(*in_file).view()));
  loaded.binding = bind_weights(*original.store, *loaded.network, {});
  expect_states<Mistral3ForConditionalGeneration>(loaded, golden("mistral3_shared_heads", "golden"),
                                                  tolerance);
  expect_written_as_read(original);
}

// The first layers of a model, as files for FLUX.2 have them: the last state is not normalised.
TEST(Mistral3, OfItsFirstLayersAloneGivesTheirStates) {
  OriginalFile original(llama_case);
  Json config = read_json(original.folder / "config.json");
  config["text_config"]["num_hidden_layers"] = 3;
  config["text_config"]["_final_norm"] = false;
  LoadedNetwork loaded = load_case("mistral3_shared_heads");
  loaded.network = make_network(config);
  loaded.binding = bind_weights(*original.store, *loaded.network, {});
  expect_states<Mistral3ForConditionalGeneration>(loaded, golden("mistral3_shared_heads", "golden"),
                                                  tolerance);
}

TEST(Mistral3, IsInferredFromNamesAndShapes) {
  Json config = read_json(source_path("tests/data/configs/flux2-dev/text_encoder/config.json"));
  auto network = make_network(config);
  const nn::FromTensors& found = mistral3_for_conditional_generation_info().from_tensors;
  Shapes shapes = original_shapes(*network), own;
  EXPECT_EQ(found.layout(shapes), "llama.cpp");
  for (const Param* param : network->params()) {
    std::string name = param->name;  // of a file of the language model alone
    own[name.replace(0, std::string("model.language_model.").size(), "model.")] = param->shape;
  }
  EXPECT_EQ(found.layout(own), "");
  for (const Shapes& each : {shapes, own}) {
    Json made = found.config(each, "components.text_encoder");
    ASSERT_FALSE(made.is_null());
    expect_same_parameters(*make_network(made), *network);
    for (const char* key : {"rope_theta", "rms_norm_eps", "head_dim"})
      EXPECT_EQ(made["text_config"][key], config["text_config"][key]) << key;
  }
  std::erase_if(own, [](const auto& each) {
    return each.first == "model.norm.weight" || each.first.starts_with("model.layers.3");
  });  // layers 3 and 30 to 39
  own["model.layers.3.input_layernorm.weight"] = {5120};
  EXPECT_EQ(found.config(own, "")["text_config"]["_final_norm"], false);
  EXPECT_EQ(found.config(own, "")["text_config"]["num_hidden_layers"], 30);
  // Qwen's are others.
  shapes["blk.0.attn_q_norm.weight"] = {128};
  EXPECT_TRUE(found.config(shapes, "").is_null());
  own["model.layers.0.self_attn.q_proj.bias"] = {4096};
  EXPECT_TRUE(found.config(own, "").is_null());
}

TEST(Mistral3, KnowsTheVisionTowersWeightsByName) {
  LoadedNetwork loaded = load_case("mistral3_shared_heads");
  for (const Param* param : loaded.network->params())
    EXPECT_EQ(param->name.find("vision"), std::string::npos) << param->name;
  const nn::WeightMap map = loaded.network->weight_map();
  auto known = [&](const char* name) {
    return std::ranges::find(map.ignored, name) != map.ignored.end();
  };
  EXPECT_TRUE(known("vision_tower.transformer.layers.1.attention.q_proj.weight"));
  EXPECT_TRUE(known("model.multi_modal_projector.patch_merger.merging_layer.weight"));
  EXPECT_FALSE(known("vision_tower.transformer.layers.2.attention.q_proj.weight"));
}

Json config_with(const Json& text) {
  Json config = {{"architectures", {"Mistral3ForConditionalGeneration"}},
                 {"text_config",
                  {{"model_type", "mistral"},
                   {"vocab_size", 100},
                   {"hidden_size", 32},
                   {"intermediate_size", 48},
                   {"num_hidden_layers", 2},
                   {"num_attention_heads", 4},
                   {"num_key_value_heads", 2},
                   {"head_dim", 8},
                   {"sliding_window", nullptr}}}};
  for (const auto& [key, value] : text.items()) config["text_config"][key] = value;
  return config;
}

void expect_refused(const Json& text, const std::string& name, const std::string& value) {
  EXPECT_THAT([&] { read_mistral3_config(config_with(text), "config.json"); },
              ThrowsMessage<Unsupported>(::testing::AllOf(HasSubstr(name), HasSubstr(value))));
}

TEST(Mistral3Config, RefusesByNameWhatWouldChangeTheStates) {
  expect_refused({{"sliding_window", 1024}}, "sliding_window", "1024");
  expect_refused({{"layer_types", {"sliding_attention"}}}, "layer_types", "sliding_attention");
  expect_refused({{"rope_parameters", {{"rope_type", "yarn"}}}}, "rope_type", "yarn");
  expect_refused({{"num_key_value_heads", 3}}, "num_attention_heads", "4");
  expect_refused({{"llama_4_scaling_beta", 0.1}}, "llama_4_scaling_beta", "0.1");
}

TEST(Mistral3Config, RefusesFilesThatAreNone) {
  EXPECT_THAT(
      [] {
        read_mistral3_config({{"hidden_size", 32}}, "config.json");
      },
      ThrowsMessage<Unsupported>(HasSubstr("hidden_size")));
  EXPECT_THAT(
      [] {
        read_mistral3_config({{"text_config", "x"}}, "config.json");
      },
      ThrowsMessage<InvalidFile>(HasSubstr("text_config")));
  // None at all is the reference's default.
  EXPECT_EQ(read_mistral3_config(Json::object(), "config.json").text.hidden_size, 5120);
  Json many = config_with(Json::object());
  many["vision_config"] = {{"num_hidden_layers", 1'000'000'000}};
  EXPECT_THAT([&] { read_mistral3_config(many, "config.json"); },
              ThrowsMessage<Unsupported>(HasSubstr("num_hidden_layers")));
}

}  // namespace
}  // namespace omnirt::testing
