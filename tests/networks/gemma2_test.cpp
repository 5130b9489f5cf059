// Gemma 2 against transformers, over tiny random checkpoints (tools/goldens/gemma.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/kernels.hpp"
#include "base/error.hpp"
#include "networks/decoder_goldens.hpp"
#include "networks/gemma2_model/model.hpp"
#include "networks/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// fp32 on both sides; what is left comes from the order of additions.
constexpr double gemma2_tolerance = 1e-5;

// Of tokens alone: padding that sees no token within its window is nothing here, and the mean of
// all values in the reference; no token sees it.
void expect_gemma2_states(const LoadedNetwork& loaded, const Tensors& tensors) {
  Context cx = loaded.context();
  const std::vector<Tensor> given = states_of_all_layers<Gemma2Model>(cx, loaded, tensors);
  auto mask = tensors.find("in.mask");
  auto of_tokens = [&](const Tensor& states) {
    return mask == tensors.end() ? states : states * mask->second.unsqueeze(2);
  };
  for (size_t i = 0; i < given.size(); ++i) {
    const Tensor& expected = tensors.at("out.hidden_states." + std::to_string(i));
    EXPECT_LT(difference(of_tokens(given[i]), of_tokens(expected)), gemma2_tolerance)
        << "state " << i;
  }
}

// One checkpoint is of transformers 4, one of Gemma2ForCausalLM, whose windows are 7 tokens.
TEST(Gemma2Model, GivesTheReferencesStatesOfEachLayer) {
  each_golden_of_cases("gemma2_", [](LoadedNetwork& loaded, const Tensors& tensors) {
    expect_gemma2_states(loaded, tensors);
  });
}

TEST(Gemma2Model, GivesThemByTheProcessorsKernels) {
  each_golden_of_cases("gemma2_", [](LoadedNetwork& loaded, const Tensors& tensors) {
    cpu::add_kernels(loaded.ops);
    expect_gemma2_states(loaded, tensors);
  });
}

TEST(Gemma2Model, CallsTheSameOpsInADryForward) {
  LoadedNetwork loaded = load_case("gemma2_windows");
  Tensors tensors = golden("gemma2_windows", "golden");
  std::vector<OpRecord> real_trace, dry_trace;
  Context real = loaded.context({.trace = &real_trace});
  Context dry = loaded.context({.dry = true, .trace = &dry_trace});
  states_of_all_layers<Gemma2Model>(real, loaded, tensors);
  states_of_all_layers<Gemma2Model>(dry, loaded, tensors);
  ASSERT_EQ(dry_trace.size(), real_trace.size());
  for (size_t i = 0; i < dry_trace.size(); ++i)
    EXPECT_EQ(dry_trace[i].output, real_trace[i].output) << dry_trace[i].op;
}

TEST(Gemma2Model, LetsEveryOtherLayerSeeAWindow) {
  Gemma2Config config = read_gemma2_config({{"num_hidden_layers", 3}}, "here");
  EXPECT_EQ(config.options().windows, (std::vector<int64_t>{4096, 0, 4096}));
  config = read_gemma2_config({{"num_hidden_layers", 3}, {"sliding_window", nullptr}}, "here");
  EXPECT_EQ(config.options().windows, (std::vector<int64_t>{0, 0, 0}));
}

TEST(Gemma2Model, RefusesWhatItCannotMake) {
  auto refused = [](const Json& config) {
    return [config] { make<Gemma2Model>(gemma2_model_info(), config); };
  };
  EXPECT_THAT(refused({{"use_bidirectional_attention", true}}),
              ThrowsMessage<Unsupported>(HasSubstr("use_bidirectional_attention")));
  EXPECT_THAT(refused({{"layer_types", {"full_attention"}}}),
              ThrowsMessage<Unsupported>(HasSubstr("26 layers")));
  EXPECT_THAT(refused({{"attn_logit_softcapping", -1.0}}),
              ThrowsMessage<Unsupported>(HasSubstr("attn_logit_softcapping")));
  EXPECT_THAT(refused({{"num_key_value_heads", 3}}),
              ThrowsMessage<Unsupported>(HasSubstr("num_key_value_heads")));
  EXPECT_THAT(refused({{"rope_scaling", {{"rope_type", "yarn"}}}}),
              ThrowsMessage<Unsupported>(HasSubstr("yarn")));
}

}  // namespace
}  // namespace omnirt::testing
