#include "networks/unet_2d_condition_model/ldm_layout.hpp"

#include <fmt/format.h>

#include "networks/unet_2d_condition_model/model.hpp"

namespace omnirt {
namespace {

// ResBlock of openaimodel.py.
const std::vector<nn::LayoutRule>& resnet_rules() {
  static const std::vector<nn::LayoutRule> rules{
      {"norm1", "in_layers.0"},          {"conv1", "in_layers.2"},
      {"norm2", "out_layers.0"},         {"conv2", "out_layers.3"},
      {"time_emb_proj", "emb_layers.1"}, {"conv_shortcut", "skip_connection"},
  };
  return rules;
}

class Walk {
 public:
  void resnet(const nn::Module& module, const std::string& to) {
    rules_.push_back({module.path(), to, nn::Form::same, 0, 1, resnet_rules()});
  }
  // Transformers have the same names in both.
  void same(const std::string& from, const std::string& to) { rules_.push_back({from, to}); }

  void down(const nn::UNetDownBlock2D& block) {
    for (size_t i = 0; i < block.resnets.size(); ++i, ++input_) {
      resnet(block.resnets[i], fmt::format("input_blocks.{}.0", input_));
      if (!block.attentions.empty())
        same(block.attentions[i].path(), fmt::format("input_blocks.{}.1", input_));
    }
    if (!block.downsamplers.empty())
      same(block.downsamplers[0].path() + ".conv", fmt::format("input_blocks.{}.0.op", input_++));
  }

  void middle(const nn::UNetMidBlock2D& block) {
    size_t place = 0;
    for (size_t i = 0; i < block.resnets.size(); ++i) {
      resnet(block.resnets[i], fmt::format("middle_block.{}", place++));
      if (i < block.attentions.size())
        same(block.attentions[i].path(), fmt::format("middle_block.{}", place++));
    }
  }

  void up(const nn::UNetUpBlock2D& block) {
    size_t sampler = block.attentions.empty() ? 1 : 2;
    for (size_t i = 0; i < block.resnets.size(); ++i, ++output_) {
      resnet(block.resnets[i], fmt::format("output_blocks.{}.0", output_));
      if (!block.attentions.empty())
        same(block.attentions[i].path(), fmt::format("output_blocks.{}.1", output_));
    }
    if (!block.upsamplers.empty()) {
      same(block.upsamplers[0].path() + ".conv",
           fmt::format("output_blocks.{}.{}.conv", output_ - 1, sampler));
    }
  }

  std::vector<nn::LayoutRule> take() { return std::move(rules_); }

 private:
  std::vector<nn::LayoutRule> rules_;
  size_t input_ = 1;  // the first is conv_in
  size_t output_ = 0;
};

}  // namespace

nn::OriginalLayout ldm_layout(const UNet2DConditionModel& unet) {
  Walk walk;
  walk.same("conv_in", "input_blocks.0.0");
  walk.same("time_embedding.linear_1", "time_embed.0");
  walk.same("time_embedding.linear_2", "time_embed.2");
  walk.same("add_embedding.linear_1", "label_emb.0.0");
  walk.same("add_embedding.linear_2", "label_emb.0.2");
  for (size_t i = 0; i < unet.down_blocks.size(); ++i) walk.down(unet.down_blocks[i]);
  if (unet.mid_block) walk.middle(*unet.mid_block);
  for (size_t i = 0; i < unet.up_blocks.size(); ++i) walk.up(unet.up_blocks[i]);
  walk.same("conv_norm_out", "out.0");
  walk.same("conv_out", "out.2");
  return {"ldm", walk.take()};
}

}  // namespace omnirt
