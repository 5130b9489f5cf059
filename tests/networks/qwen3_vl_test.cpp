// Qwen3-VL against transformers, over tiny random checkpoints (tools/goldens/qwen3_vl.py).
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/kernels.hpp"
#include "base/error.hpp"
#include "blocks/qwen3_vl_positions.hpp"
#include "blocks/vision_patches.hpp"
#include "networks/decoder_goldens.hpp"
#include "networks/qwen3_vl_for_conditional_generation/model.hpp"
#include "networks/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// fp32 on both sides; what is left comes from the order of additions.
constexpr double tolerance = 1e-5;

// With padding after the prompt, before it, and none; of files with a head and without.
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

// What one prompt of a golden looks at.
struct Looked {
  std::vector<Tensor> tokens;
  std::vector<nn::ImageSpan> spans;
  std::vector<blocks::Qwen3VLImage> images;
};

// A golden's images stand two tokens apart, from the third on.
Looked look(Context& cx, const Qwen3VLForConditionalGeneration& encoder, const Tensors& tensors) {
  Looked made;
  int64_t first = 2;
  const int64_t side = encoder.vision()->patch_size * encoder.vision()->spatial_merge_size;
  for (int64_t i = 0; tensors.contains("in.pixels." + std::to_string(i)); ++i) {
    const Tensor& pixels = tensors.at("in.pixels." + std::to_string(i));
    const auto all =
        encoder.image_tokens(cx, blocks::qwen3_vl_vision_input(*encoder.vision(), pixels));
    for (size_t tap = 0; tap < all.size(); ++tap) {
      const std::string name = fmt::format("out.image_tokens.{}.{}", i, tap);
      EXPECT_LT(difference(all[tap], tensors.at(name)), tolerance) << name;
      if (i == 0)
        made.tokens.push_back(all[tap]);
      else
        made.tokens[tap] = at::cat({made.tokens[tap], all[tap]}, 1);
    }
    made.spans.push_back({first, all.front().size(1)});
    made.images.push_back({first, pixels.size(2) / side, pixels.size(3) / side});
    first += all.front().size(1) + 2;
  }
  return made;
}

// Tokens of images, deepstack's too, and the states of prompts that look at them.
TEST(Qwen3VL, SeesImagesAndReadsPromptsThatLookAtThem) {
  size_t checked = 0;
  for (const std::string& name : cases("qwen3vl_")) {
    for (bool compiled : {false, true}) {
      LoadedNetwork loaded = load_case(name);
      if (compiled) cpu::add_kernels(loaded.ops);
      for (const std::string& file : files(name, "seen")) {
        SCOPED_TRACE(name + "/" + file);
        const Tensors tensors = golden(name, file);
        const auto& encoder = loaded.as<Qwen3VLForConditionalGeneration>();
        Context cx = loaded.context();
        const Looked looked = look(cx, encoder, tensors);
        const Tensor& ids = tensors.at("in.input_ids");
        const Tensor angles = blocks::qwen3_vl_angles(encoder.text(), ids.size(1), looked.images);
        const Qwen3VLSeen seen{looked.tokens, looked.spans};
        const std::vector<Tensor> states = encoder.states(
            cx, ids,
            {.chosen = {encoder.num_hidden_layers()}, .positions = &angles, .normed = false},
            &seen);
        EXPECT_LT(difference(states.front(), tensors.at("out.unnormed")), tolerance);
        ++checked;
      }
    }
  }
  EXPECT_EQ(checked, 12U);
}

// Without images the angles are those that the decoder takes itself.
TEST(Qwen3VL, CountsTextAsItsDecoderDoes) {
  LoadedNetwork loaded = load_case("qwen3vl_shared_heads");
  const auto& encoder = loaded.as<Qwen3VLForConditionalGeneration>();
  Context cx = loaded.context();
  const Tensor ids = at::arange(0, 9, at::kLong).unsqueeze(0);
  const Tensor angles = blocks::qwen3_vl_angles(encoder.text(), 9, {});
  auto last = [&](const Tensor* positions) {
    return encoder.states(cx, ids, {.chosen = {4}, .positions = positions}).front();
  };
  EXPECT_LT(difference(last(&angles), last(nullptr)), 1e-6);
}

Json config_with(const Json& text, const Json& vision = nullptr) {
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
  auto refused_tower = [](const char* name, const Json& value, const std::string& shown) {
    Json vision = {{"out_hidden_size", 32}, {"depth", 1}, {"deepstack_visual_indexes", {0}}};
    vision[name] = value;
    expect_refused(config_with(Json::object(), vision), name, shown);
  };
  refused_tower("depth", 1'000'000'000, "1000000000");
  refused_tower("out_hidden_size", 33, "33");
  refused_tower("num_position_embeddings", 35, "35");
  refused_tower("deepstack_visual_indexes", {1}, "1");
  refused_tower("deepstack_visual_indexes", {0, 0, 0}, "3");
  refused_tower("num_heads", 7, "1152");
  refused_tower("rope_parameters", {{"rope_type", "yarn"}}, "yarn");
  refused_tower("windows", 3, "windows");
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
