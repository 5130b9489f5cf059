// ControlNets of transformers of tokens against diffusers, over tiny random checkpoints
// (tools/goldens/flux_controlnets.py and its kin).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/kernels.hpp"
#include "base/error.hpp"
#include "networks/flux_controlnet_model/model.hpp"
#include "networks/qwen_image_blockwise_controlnet/model.hpp"
#include "networks/sd3_controlnet_model/model.hpp"
#include "networks/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

// fp32 on both sides; what is left comes from the order of additions.
constexpr double control_tolerance = 1e-5;

Values residuals_by(Context& cx, const LoadedNetwork& loaded, const Tensors& tensors) {
  return loaded.as<nn::ControlNetwork>().control(cx, inputs_of(tensors));
}

// Residuals as residuals() tells them, and as the golden has them.
void expect_residuals(const LoadedNetwork& loaded, const Values& made, const Tensors& tensors) {
  size_t compared = 0;
  for (const auto& residuals : loaded.as<nn::ControlNetwork>().residuals()) {
    const std::vector<Value>& list = made.at(residuals.input);
    ASSERT_EQ(list.size(), residuals.count);
    for (size_t i = 0; i < list.size(); ++i, ++compared) {
      const std::string name = "out." + residuals.input + "." + std::to_string(i);
      EXPECT_LT(difference(list[i].tensor(), tensors.at(name)), control_tolerance) << name;
    }
  }
  auto is_result = [](const auto& each) { return each.first.starts_with("out."); };
  EXPECT_EQ(compared, std::ranges::count_if(tensors, is_result));
  EXPECT_EQ(made.size(), loaded.as<nn::ControlNetwork>().residuals().size());
}

// A dry forward calls the same ops with the same shapes as the real one.
void expect_same_ops_when_dry(const LoadedNetwork& loaded, const Tensors& tensors) {
  std::vector<OpRecord> real_trace, dry_trace;
  Context real = loaded.context({.trace = &real_trace});
  Context dry = loaded.context({.dry = true, .trace = &dry_trace});
  residuals_by(real, loaded, tensors);
  residuals_by(dry, loaded, tensors);
  ASSERT_EQ(dry_trace.size(), real_trace.size());
  for (size_t i = 0; i < dry_trace.size(); ++i) {
    EXPECT_EQ(dry_trace[i].op, real_trace[i].op);
    EXPECT_EQ(dry_trace[i].output, real_trace[i].output) << dry_trace[i].op;
  }
}

void expect_reference(const std::string& prefix) {
  ASSERT_FALSE(cases(prefix).empty());
  for (const std::string& name : cases(prefix)) {
    for (bool channels_last : {false, true}) {
      LoadedNetwork loaded = load_case(name, {at::kFloat, channels_last});
      for (const std::string& file : files(name, "golden")) {
        SCOPED_TRACE(name + "/" + file + (channels_last ? ", channels-last" : ""));
        Tensors tensors = golden(name, file);
        Context cx = loaded.context();
        expect_residuals(loaded, residuals_by(cx, loaded, tensors), tensors);
        expect_same_ops_when_dry(loaded, tensors);
      }
    }
  }
}

TEST(ControlNetworks, OfFluxGiveTheReferencesResiduals) {
  expect_reference("flux_controlnet");
}

TEST(ControlNetworks, OfQwenImageGiveTheReferencesResiduals) {
  expect_reference("qwen_image_controlnet");
}

// DiffSynth-Studio's, by the references and by the processor's kernels.
TEST(ControlNetworks, OfQwenImageGiveTheReferencesHintsToEachBlock) {
  for (const char* name : {"qwen_image_blockwise", "qwen_image_blockwise_inpaint"}) {
    for (bool compiled : {false, true}) {
      LoadedNetwork loaded = load_case(name);
      if (compiled) cpu::add_kernels(loaded.ops);
      const auto& network = loaded.as<nn::ControlNetwork>();
      const Tensors tensors = golden(name, "golden");
      Context cx = loaded.context();
      const Values inputs{{"image_tokens", {tensors.at("in.image_tokens")}},
                          {"controlnet_cond", {tensors.at("in.controlnet_cond")}}};
      for (size_t block = 0; block < network.residuals().front().count; ++block)
        EXPECT_LT(difference(network.hint(cx, inputs, block),
                             tensors.at("out.hint." + std::to_string(block))),
                  1e-5)
            << name << " " << block;
    }
  }
}

TEST(ControlNetworks, OfQwenImageAreKnownByTheirTensorsAlone) {
  auto config = [](int64_t in) {
    return qwen_image_blockwise_config_from_tensors({{"img_in.weight", {3072, in}},
                                                     {"controlnet_blocks.0.x_rms.weight", {3072}},
                                                     {"controlnet_blocks.1.x_rms.weight", {3072}}},
                                                    "file");
  };
  EXPECT_EQ(config(64)["additional_in_dim"], 0);
  EXPECT_EQ(config(68)["additional_in_dim"], 4);
  EXPECT_EQ(config(68)["in_dim"], 64);
  EXPECT_EQ(config(64)["num_layers"], 2);
  EXPECT_TRUE(qwen_image_blockwise_config_from_tensors({}, "file").is_null());
  EXPECT_THROW(read_qwen_image_blockwise_config({{"additional_in_dim", 3}}, "config.json"),
               Unsupported);
}

TEST(ControlNetworks, OfStableDiffusion3GiveTheReferencesResiduals) {
  expect_reference("sd3_controlnet");
}

TEST(ControlNetworks, OfSanaGiveTheReferencesResiduals) {
  expect_reference("sana_controlnet");
}

TEST(ControlNetworks, OfAUnionDependOnTheMode) {
  LoadedNetwork loaded = load_case("flux_controlnet_union");
  Tensors tensors = golden("flux_controlnet_union", "golden");
  Context cx = loaded.context();
  Tensor before = residuals_by(cx, loaded, tensors).at("controlnet_block_samples")[0].tensor();
  Tensor mode = tensors.at("in.control_mode");
  tensors["in.control_mode"] = (mode + 1) % *loaded.as<nn::ControlNetwork>().modes();
  Tensor after = residuals_by(cx, loaded, tensors).at("controlnet_block_samples")[0].tensor();
  EXPECT_GT(difference(after, before), 0.01);
}

TEST(ControlNetworks, OfFluxTakeWhatTheirConfigSays) {
  auto made = [](const Json& config) {
    Json all = {{"num_layers", 1}, {"num_single_layers", 1}};
    if (config.is_object()) all.update(config);
    return make<FluxControlNetModel>(flux_controlnet_model_info(), all);
  };
  auto named = [](const char* name) { return Contains(Field(&nn::NetworkInput::name, name)); };
  EXPECT_THAT(made({})->inputs(), Not(named("guidance")));
  EXPECT_THAT(made({{"guidance_embeds", true}})->inputs(), named("guidance"));
  EXPECT_THAT(made({})->inputs(), Not(named("control_mode")));
  EXPECT_THAT(made({{"num_mode", 10}})->inputs(), named("control_mode"));
  EXPECT_EQ(made({})->pixels_per_token(), 0);
  EXPECT_EQ(made({{"conditioning_embedding_channels", 16}, {"patch_size", 2}})->pixels_per_token(),
            16);
  EXPECT_THAT(
      [&] {
        made({{"conditioning_embedding_channels", 16}});
      },
      ThrowsMessage<Unsupported>(HasSubstr("tokens of 16 values")));
  EXPECT_THAT([&] { made({{"num_mode", 0}}); }, ThrowsMessage<Unsupported>(HasSubstr("num_mode")));
}

TEST(ControlNetworks, OfStableDiffusion3TakeWhatTheirConfigSays) {
  auto made = [](const Json& config) {
    Json all = {{"num_layers", 1}};
    if (config.is_object()) all.update(config);
    return make<SD3ControlNetModel>(sd3_controlnet_model_info(), all);
  };
  auto named = [](const char* name) { return Contains(Field(&nn::NetworkInput::name, name)); };
  EXPECT_EQ(made({})->max_side(), 96);
  EXPECT_FALSE(made({})->shifts_latents());
  EXPECT_THAT(made({})->inputs(), Not(named("image_tokens")));
  const Json single = {{"joint_attention_dim", nullptr}, {"use_pos_embed", false}};
  EXPECT_EQ(made(single)->context_dim(), 0);
  EXPECT_EQ(made(single)->max_side(), 0);
  EXPECT_THAT(made(single)->inputs(), named("image_tokens"));
  EXPECT_THAT(made(single)->inputs(), Not(named("encoder_hidden_states")));
  EXPECT_FALSE(made({})->reads_mask());
  const Json mask = {{"extra_conditioning_channels", 1}};
  EXPECT_TRUE(made(mask)->reads_mask());
  EXPECT_EQ(made(mask)->in_channels(), 16);
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, Json>>{{"extra_conditioning_channels", 2},
                                                 {"joint_attention_dim", nullptr},
                                                 {"use_pos_embed", false}}) {
    Json config = mask;
    config[key] = value;
    EXPECT_THAT([&] { made(config); }, ThrowsMessage<Unsupported>(HasSubstr(key)));
  }
}

std::vector<size_t> shared_out(nn::ResidualOrder order, size_t blocks, size_t count) {
  std::vector<size_t> all;
  for (size_t i = 0; i < blocks; ++i) all.push_back(nn::residual_of(order, i, blocks, count));
  return all;
}

// By the formulas of FluxTransformer2DModel.forward and SD3Transformer2DModel.forward.
TEST(ResidualOrder, SharesResidualsOutAsTheReferenceDoes) {
  using enum nn::ResidualOrder;
  EXPECT_THAT(shared_out(intervals, 5, 2), ::testing::ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(shared_out(intervals, 5, 4), ::testing::ElementsAre(0, 0, 1, 1, 2));
  EXPECT_THAT(shared_out(intervals, 2, 3), ::testing::ElementsAre(0, 1));
  EXPECT_THAT(shared_out(repeated, 5, 2), ::testing::ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(shared_out(even, 5, 2), ::testing::ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(shared_out(even, 5, 4), ::testing::ElementsAre(0, 0, 1, 2, 3));
  EXPECT_THAT(shared_out(leading, 3, 4), ::testing::ElementsAre(0, 1, 2));
}

// By that of SanaTransformer2DModel.forward: the blocks behind have none.
TEST(ResidualOrder, LeavesBlocksWithoutWhereThereAreFewerLeadingOnes) {
  using enum nn::ResidualOrder;
  EXPECT_EQ(nn::blocks_with_residual(leading, 5, 2), 2);
  EXPECT_EQ(nn::blocks_with_residual(leading, 2, 5), 2);
  EXPECT_EQ(nn::blocks_with_residual(even, 5, 2), 5);
}

}  // namespace
}  // namespace omnirt::testing
