// Qwen3-VL against transformers, over tiny random checkpoints (tools/goldens/qwen3_vl.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/kernels.hpp"
#include "base/error.hpp"
#include "networks/decoder_goldens.hpp"
#include "networks/qwen3_vl_for_conditional_generation/model.hpp"
#include "networks/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// fp32 on both sides; what is left comes from the order of additions.
constexpr double tolerance = 1e-5;

// With padding after the prompt, before it, and none; of files with a head and without, both with a
// vision tower.
TEST(Qwen3VL, GivesTheReferencesStatesOfEachLayer) {
  each_golden_of_cases("qwen3vl_", [](LoadedNetwork& loaded, const Tensors& tensors) {
    expect_states<Qwen3VLForConditionalGeneration>(loaded, tensors, tolerance);
  });
}

TEST(Qwen3VL, GivesThemByTheProcessorsKernels) {
  each_golden_of_cases("qwen3vl_", [](LoadedNetwork& loaded, const Tensors& tensors) {
    cpu::add_kernels(loaded.ops);
    expect_states<Qwen3VLForConditionalGeneration>(loaded, tensors, tolerance);
  });
}

TEST(Qwen3VL, KnowsTheVisionTowersWeightsByName) {
  LoadedNetwork loaded = load_case("qwen3vl_shared_heads");
  EXPECT_STREQ(loaded.network->class_name(), "Qwen3VLModel");
  const nn::WeightMap map = loaded.network->weight_map();
  auto known = [&](const char* name) {
    return std::ranges::find(map.ignored, name) != map.ignored.end();
  };
  EXPECT_TRUE(known("visual.blocks.2.attn.qkv.bias"));
  EXPECT_TRUE(known("model.visual.deepstack_merger_list.1.norm.weight"));
  EXPECT_FALSE(known("visual.blocks.3.attn.qkv.bias"));
  EXPECT_FALSE(known("visual.deepstack_merger_list.2.norm.weight"));
}

Json config_with(const Json& text, const Json& vision = Json::object()) {
  Json config = {{"architectures", {"Qwen3VLForConditionalGeneration"}},
                 {"vision_config", vision},
                 {"text_config",
                  {{"vocab_size", 100},
                   {"hidden_size", 32},
                   {"intermediate_size", 48},
                   {"num_hidden_layers", 2},
                   {"num_attention_heads", 4},
                   {"num_key_value_heads", 2},
                   {"head_dim", 8}}}};
  for (const auto& [key, value] : text.items()) config["text_config"][key] = value;
  return config;
}

void expect_refused(const Json& config, const std::string& name, const std::string& value) {
  EXPECT_THAT([&] { read_qwen3_vl_config(config, "config.json"); },
              ThrowsMessage<Unsupported>(::testing::AllOf(HasSubstr(name), HasSubstr(value))));
}

TEST(Qwen3VLConfig, RefusesByNameWhatWouldChangeTheStates) {
  expect_refused(config_with({{"layer_types", {"sliding_attention"}}}), "layer_types", "sliding");
  expect_refused(config_with({{"rope_scaling", {{"rope_type", "yarn"}}}}), "rope_type", "yarn");
  expect_refused(config_with({{"rope_parameters", {{"mrope_interleaved", false}}}}),
                 "mrope_interleaved", "false");
  expect_refused(config_with({{"rope_parameters", {{"mrope_section", {2, 2}}}}}), "mrope_section",
                 "2 numbers");
  expect_refused(config_with({{"num_key_value_heads", 3}}), "num_attention_heads", "4");
  expect_refused(config_with({}, {{"depth", 1'000'000'000}}), "depth", "1000000000");
}

TEST(Qwen3VLConfig, ReadsWhatBothVersionsOfTransformersWrite) {
  auto theta = [](const Json& text) {
    return read_qwen3_vl_config(config_with(text), "config.json").text.rope_theta;
  };
  EXPECT_EQ(theta({{"rope_theta", 5000000}, {"rope_scaling", nullptr}}), 5e6);
  EXPECT_EQ(theta({{"rope_parameters", {{"rope_theta", 4e5}, {"rope_type", "default"}}}}), 4e5);
  EXPECT_EQ(theta(Json::object()), 5e5);
  EXPECT_EQ(read_qwen3_vl_config(Json::object(), "config.json").text.hidden_size, 4096);
}

}  // namespace
}  // namespace omnirt::testing
