#include <gtest/gtest.h>

#include <set>

#include "networks/support.hpp"
#include "networks/unet_2d_condition_model/model.hpp"

namespace omnirt::testing {
namespace {

// Every parameter has a place, and no two share one but the parts of a stacked tensor.
void expect_whole(const nn::Network& network, const nn::OriginalLayout& layout) {
  std::set<std::pair<std::string, size_t>> taken;
  for (const Param* param : network.params()) {
    auto place = nn::original_place(layout, *param);
    ASSERT_TRUE(place) << param->name;
    EXPECT_TRUE(taken.emplace(place->name, place->part).second) << place->name;
  }
}

TEST(OriginalLayouts, HoldEveryParameterOfEveryStockNetwork) {
  auto folder = source_path("tests/data/configs");
  Json index = read_json(folder / "index.json");
  size_t checked = 0;
  for (const auto& [component, list] : index.items()) {
    SCOPED_TRACE(component);
    // The reference has no original names for an embedded guidance scale, tiny autoencoders and
    // FLUX.2's; videos, PixArt's transformers and language models are published as folders. The
    // vision tower of Qwen-Image's text encoder has no names in the language model's files. Of
    // Krea 2's and Qwen-Image 2.1's parts the reference reads the transformer alone.
    if (component == "lcm-dreamshaper-v7/unet" || component == "taesd/vae") continue;
    if (component.starts_with("svd") || component.starts_with("pixart")) continue;
    if (component.starts_with("flux2") && !component.ends_with("/transformer")) continue;
    if (component == "qwen-image/text_encoder" || component == "krea-2/text_encoder") continue;
    if (component == "qwen-image-2.1/text_encoder" || component == "qwen-image-2.1/vae") continue;
    if (component == "aura-flow/text_encoder" || component == "lumina-image-2/text_encoder")
      continue;
    auto network = make_network(read_json(folder / component / "config.json"), component);
    EXPECT_FALSE(network->original_layouts().empty());
    for (const nn::OriginalLayout& layout : network->original_layouts()) {
      expect_whole(*network, layout);
      ++checked;
    }
  }
  EXPECT_GE(checked, 50u);
}

TEST(OriginalLayouts, NumberTheUNetsBlocksThrough) {
  auto network = make_network({{"_class_name", "UNet2DConditionModel"}});
  auto layout = network->original_layouts().at(0);
  auto name = [&](const std::string& from) { return nn::original_name(layout, from).value_or(""); };
  EXPECT_EQ(name("conv_in.weight"), "input_blocks.0.0.weight");
  EXPECT_EQ(name("down_blocks.0.resnets.0.norm1.bias"), "input_blocks.1.0.in_layers.0.bias");
  EXPECT_EQ(name("down_blocks.0.downsamplers.0.conv"), "input_blocks.3.0.op");
  EXPECT_EQ(name("down_blocks.2.attentions.1.transformer_blocks.0.attn1.to_q"),
            "input_blocks.8.1.transformer_blocks.0.attn1.to_q");
  EXPECT_EQ(name("mid_block.attentions.0.proj_in"), "middle_block.1.proj_in");
  EXPECT_EQ(name("mid_block.resnets.1.time_emb_proj"), "middle_block.2.emb_layers.1");
  EXPECT_EQ(name("up_blocks.0.upsamplers.0.conv"), "output_blocks.2.1.conv");
  EXPECT_EQ(name("up_blocks.1.upsamplers.0.conv"), "output_blocks.5.2.conv");
  EXPECT_EQ(name("up_blocks.3.resnets.2.conv_shortcut"), "output_blocks.11.0.skip_connection");
  EXPECT_EQ(name("nothing.of.this"), "");
}

TEST(OriginalLayouts, SayHowAParameterLiesInTheOriginal) {
  auto network = make_network({{"architectures", {"CLIPTextModel"}}, {"hidden_size", 64}});
  auto layout = network->original_layouts().at(1);
  for (const Param* param : network->params()) {
    if (param->name != "encoder.layers.3.self_attn.v_proj.weight") continue;
    nn::OriginalPlace expected{
        "transformer.resblocks.3.attn.in_proj_weight", {192, 64}, nn::Form::rows, 2, 3};
    EXPECT_EQ(nn::original_place(layout, *param), expected);
  }
}

}  // namespace
}  // namespace omnirt::testing
