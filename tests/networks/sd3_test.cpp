// Stable Diffusion 3's transformer against diffusers, over tiny random checkpoints
// (tools/goldens/sd3.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/sd3_transformer_2d_model/model.hpp"
#include "networks/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// fp32 on both sides; what is left comes from the order of additions.
constexpr double sd3_tolerance = 1e-5;

Tensor sd3_prediction(Context& cx, const LoadedNetwork& loaded, const Tensors& tensors) {
  return loaded.as<nn::DenoiserNetwork>().predict(cx, inputs_of(tensors));
}

TEST(SD3Transformer2DModel, GivesTheReferencesPrediction) {
  ASSERT_EQ(cases("sd3_transformer").size(), 3U);
  for (const std::string& name : cases("sd3_transformer")) {
    for (bool channels_last : {false, true}) {
      LoadedNetwork loaded = load_case(name, {at::kFloat, channels_last});
      for (const std::string& file : files(name, "golden")) {
        SCOPED_TRACE(name + "/" + file + (channels_last ? ", channels-last" : ""));
        Tensors tensors = golden(name, file);
        std::vector<OpRecord> real_trace, dry_trace;
        Context real = loaded.context({.trace = &real_trace});
        Context dry = loaded.context({.dry = true, .trace = &dry_trace});
        Tensor made = sd3_prediction(real, loaded, tensors);
        EXPECT_LT(difference(made, tensors.at("out.sample")), sd3_tolerance);
        EXPECT_EQ(sd3_prediction(dry, loaded, tensors).sizes(), made.sizes());
        ASSERT_EQ(dry_trace.size(), real_trace.size());
        for (size_t i = 0; i < dry_trace.size(); ++i)
          EXPECT_EQ(dry_trace[i].output, real_trace[i].output) << dry_trace[i].op;
      }
    }
  }
}

TEST(SD3Transformer2DModel, HasWhatTheConfigSaysOfEachBlock) {
  auto made = make<SD3Transformer2DModel>(
      sd3_transformer_2d_model_info(),
      {{"num_layers", 3}, {"dual_attention_layers", {0, 2}}, {"qk_norm", "rms_norm"}});
  const auto& blocks = made->transformer_blocks;
  EXPECT_TRUE(blocks[0].attn2 && !blocks[1].attn2 && blocks[2].attn2);
  EXPECT_TRUE(blocks[1].ff_context && blocks[1].attn.to_add_out);
  EXPECT_FALSE(blocks[2].ff_context || blocks[2].attn.to_add_out);
  EXPECT_TRUE(blocks[2].attn.norm_added_q && blocks[2].attn2->norm_q);
  EXPECT_FALSE(blocks[2].attn2->norm_added_q);
}

TEST(SD3Transformer2DModel, RefusesWhatNoModelHas) {
  auto refused = [](const Json& config) {
    return [config] { make<SD3Transformer2DModel>(sd3_transformer_2d_model_info(), config); };
  };
  EXPECT_THAT(refused({{"qk_norm", "layer_norm"}}),
              ThrowsMessage<Unsupported>(HasSubstr("qk_norm")));
  EXPECT_THAT(refused({{"caption_projection_dim", 1000}}),
              ThrowsMessage<Unsupported>(HasSubstr("1152 wide")));
  EXPECT_THAT(refused({{"dual_attention_layers", {18}}}),
              ThrowsMessage<Unsupported>(HasSubstr("dual_attention_layers")));
}

}  // namespace
}  // namespace omnirt::testing
