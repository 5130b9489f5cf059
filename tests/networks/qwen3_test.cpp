// Qwen3 against transformers, over tiny random checkpoints (tools/goldens/qwen.py).
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/kernels.hpp"
#include "base/error.hpp"
#include "networks/decoder_goldens.hpp"
#include "networks/qwen3_for_causal_lm/model.hpp"
#include "networks/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// fp32 on both sides; what is left comes from the order of additions.
constexpr double tolerance = 1e-5;

std::vector<Tensor> states(Context& cx, const LoadedNetwork& loaded, const Tensors& tensors,
                           const std::vector<int64_t>& chosen) {
  auto mask = tensors.find("in.mask");
  return loaded.as<Qwen3ForCausalLM>().hidden_states(
      cx, tensors.at("in.input_ids"), mask == tensors.end() ? nullptr : &mask->second, chosen);
}

// With padding after the prompt, before it, and none; one checkpoint is in several files.
TEST(Qwen3ForCausalLM, GivesTheReferencesStatesOfEachLayer) {
  each_golden_of_cases("qwen3_", [](LoadedNetwork& loaded, const Tensors& tensors) {
    expect_states<Qwen3ForCausalLM>(loaded, tensors, tolerance);
  });
}

TEST(Qwen3ForCausalLM, GivesThemByTheProcessorsKernels) {
  each_golden_of_cases("qwen3_", [](LoadedNetwork& loaded, const Tensors& tensors) {
    cpu::add_kernels(loaded.ops);
    expect_states<Qwen3ForCausalLM>(loaded, tensors, tolerance);
  });
}

TEST(Qwen3ForCausalLM, CallsTheSameOpsInADryForward) {
  LoadedNetwork loaded = load_case("qwen3_shared_heads");
  Tensors tensors = golden("qwen3_shared_heads", "golden");
  std::vector<OpRecord> real_trace, dry_trace;
  Context real = loaded.context({.trace = &real_trace});
  Context dry = loaded.context({.dry = true, .trace = &dry_trace});
  std::vector<Tensor> expected = states(real, loaded, tensors, {1, 3});
  std::vector<Tensor> actual = states(dry, loaded, tensors, {1, 3});
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(actual[i].sizes(), expected[i].sizes());
    EXPECT_EQ(actual[i].scalar_type(), expected[i].scalar_type());
  }
  ASSERT_EQ(dry_trace.size(), real_trace.size());
  for (size_t i = 0; i < dry_trace.size(); ++i) {
    EXPECT_EQ(dry_trace[i].op, real_trace[i].op);
    EXPECT_EQ(dry_trace[i].output, real_trace[i].output) << dry_trace[i].op;
  }
}

TEST(Qwen3ForCausalLM, ComputesNoLayerBehindTheLastThatIsChosen) {
  LoadedNetwork loaded = load_case("qwen3_shared_heads");
  Tensors tensors = golden("qwen3_shared_heads", "golden");
  auto ops_for = [&](const std::vector<int64_t>& chosen) {
    std::vector<OpRecord> trace;
    Context cx = loaded.context({.trace = &trace});
    states(cx, loaded, tensors, chosen);
    return trace.size();
  };
  const size_t none = ops_for({0}), two = ops_for({2, 0}), three = ops_for({3});
  EXPECT_EQ(three - none, (two - none) / 2 * 3);
}

TEST(Qwen3ForCausalLM, GivesStatesInTheOrderThatIsAskedFor) {
  LoadedNetwork loaded = load_case("qwen3_shared_heads");
  Tensors tensors = golden("qwen3_shared_heads", "golden");
  Context cx = loaded.context();
  std::vector<Tensor> given = states(cx, loaded, tensors, {3, 1, 3});
  EXPECT_TRUE(given[0].equal(given[2]));
  EXPECT_LT(difference(given[1], tensors.at("out.hidden_states.1")), tolerance);
}

TEST(Qwen3ForCausalLM, DoesNotSeePadding) {
  LoadedNetwork loaded = load_case("qwen3_shared_heads");
  Tensors tensors = golden("qwen3_shared_heads", "golden");
  Context cx = loaded.context();
  Tensor before = states(cx, loaded, tensors, {4})[0].clone();
  tensors.at("in.input_ids")[1][20] = 7;  // five tokens, then padding
  Tensor after = states(cx, loaded, tensors, {4})[0];
  EXPECT_TRUE(after[1].narrow(0, 0, 20).equal(before[1].narrow(0, 0, 20)));
  EXPECT_TRUE(after[1].narrow(0, 21, 3).equal(before[1].narrow(0, 21, 3)));
  EXPECT_FALSE(after[1][20].equal(before[1][20]));
}

TEST(Qwen3ForCausalLM, RefusesTokensOutsideItsVocabulary) {
  LoadedNetwork loaded = load_case("qwen3_shared_heads");
  Context cx = loaded.context();
  Tensors tensors = {{"in.input_ids", at::zeros({1, 2}, at::kLong) + 300}};
  EXPECT_THAT([&] { states(cx, loaded, tensors, {1}); },
              ThrowsMessage<InvalidRequest>(HasSubstr("300")));
}

Json config_with(const Json& values) {
  Json config = {{"architectures", {"Qwen3ForCausalLM"}},
                 {"vocab_size", 100},
                 {"hidden_size", 32},
                 {"intermediate_size", 48},
                 {"num_hidden_layers", 2},
                 {"num_attention_heads", 4},
                 {"num_key_value_heads", 2},
                 {"head_dim", 8}};
  for (const auto& [key, value] : values.items()) config[key] = value;
  return config;
}

void expect_refused(const Json& values, const std::string& name, const std::string& value) {
  EXPECT_THAT([&] { read_qwen3_config(config_with(values), "config.json"); },
              ThrowsMessage<Unsupported>(::testing::AllOf(HasSubstr(name), HasSubstr(value))));
}

TEST(Qwen3Config, RefusesByNameWhatWouldChangeTheStates) {
  expect_refused({{"use_sliding_window", true}}, "use_sliding_window", "true");
  expect_refused({{"layer_types", {"full_attention", "sliding_attention"}}}, "layer_types",
                 "sliding_attention");
  expect_refused({{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}}}}, "rope_type", "yarn");
  expect_refused({{"rope_parameters", {{"type", "linear"}}}}, "type", "linear");
  expect_refused({{"rope_parameters", {{"partial_rotary_factor", 0.5}}}}, "partial_rotary_factor",
                 "0.5");
  expect_refused({{"quantization_config", {{"bits", 4}}}}, "quantization_config", "bits");
}

TEST(Qwen3Config, RefusesSizesThatDoNotGoTogether) {
  expect_refused({{"num_key_value_heads", 3}}, "num_attention_heads", "4");
  expect_refused({{"num_key_value_heads", 0}}, "num_key_value_heads", "0");
  expect_refused({{"head_dim", 7}}, "head_dim", "7");
  expect_refused({{"head_dim", 1 << 20}}, "head_dim", "1048576");
  expect_refused({{"num_hidden_layers", 100000}}, "num_hidden_layers", "100000");
  expect_refused({{"rope_parameters", {{"rope_theta", -1}}}}, "rope_theta", "-1");
}

TEST(Qwen3Config, ReadsWhatBothVersionsOfTransformersWrite) {
  auto theta = [](const Json& values) {
    return read_qwen3_config(config_with(values), "config.json").rope_theta;
  };
  EXPECT_EQ(theta({{"rope_theta", 1000000}, {"rope_scaling", nullptr}}), 1e6);
  EXPECT_EQ(theta({{"rope_parameters", {{"rope_theta", 5e5}, {"rope_type", "default"}}}}), 5e5);
  EXPECT_EQ(theta(Json::object()), 1e4);
  Qwen3Config config = read_qwen3_config(
      config_with({{"num_key_value_heads", nullptr}, {"head_dim", nullptr}}), "config.json");
  EXPECT_EQ(config.options().kv_heads, 4);
  EXPECT_EQ(config.options().head_dim, 8);
}

}  // namespace
}  // namespace omnirt::testing
