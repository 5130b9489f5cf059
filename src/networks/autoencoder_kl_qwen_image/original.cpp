#include "networks/autoencoder_kl_qwen_image/original.hpp"

#include <fmt/format.h>

#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

using Rules = std::vector<nn::LayoutRule>;

nn::LayoutRule wan_within(const std::string& ours, const std::string& theirs, Rules rules) {
  return {ours, theirs, nn::Form::same, 0, 1, std::move(rules)};
}

// Of a resnet; an upsampler's or downsampler's names are its own.
Rules wan_resnet() {
  return {{"norm1", "residual.0"},
          {"conv1", "residual.2"},
          {"norm2", "residual.3"},
          {"conv2", "residual.6"},
          {"conv_shortcut", "shortcut"}};
}

Rules wan_half(Rules levels) {
  Rules rules{{"conv_in", "conv1"},
              wan_within("mid_block.resnets.0", "middle.0", wan_resnet()),
              {"mid_block.attentions.0", "middle.1"},
              wan_within("mid_block.resnets.1", "middle.2", wan_resnet()),
              {"norm_out", "head.0"},
              {"conv_out", "head.2"}};
  rules.insert(rules.end(), levels.begin(), levels.end());
  return rules;
}

Rules wan_upsamples(const AutoencoderKLQwenImageConfig& config) {
  Rules rules;
  int64_t place = 0;
  for (size_t level = 0; level < config.dim_mult.size(); ++level) {
    auto add = [&](const std::string& part) {
      rules.push_back(wan_within(fmt::format("up_blocks.{}.{}", level, part),
                                 fmt::format("upsamples.{}", place++), wan_resnet()));
    };
    for (int64_t i = 0; i <= config.num_res_blocks; ++i) add(fmt::format("resnets.{}", i));
    if (level + 1 < config.dim_mult.size()) add("upsamplers.0");
  }
  return rules;
}

}  // namespace

nn::OriginalLayout wan_autoencoder_layout(const AutoencoderKLQwenImageConfig& config) {
  Rules downsamples{wan_within("down_blocks", "downsamples", {wan_within("*", "*", wan_resnet())})};
  return {"wan",
          {{"quant_conv", "conv1"},
           {"post_quant_conv", "conv2"},
           wan_within("encoder", "encoder", wan_half(downsamples)),
           wan_within("decoder", "decoder", wan_half(wan_upsamples(config)))}};
}

Json wan_autoencoder_config(const std::map<std::string, std::vector<int64_t>>& all,
                            const std::string&) {
  const TensorShapes shapes(all);
  for (const char* sign : {"conv2.weight", "encoder.conv1.weight", "encoder.middle.1.to_qkv.weight",
                           "decoder.upsamples.0.residual.2.weight"})
    if (!shapes.has(sign)) return {};
  return {{"_class_name", "AutoencoderKLQwenImage"},
          {"base_dim", shapes.size("encoder.conv1.weight", 0)},
          {"z_dim", shapes.size("conv2.weight", 0)},
          {"input_channels", shapes.size("encoder.conv1.weight", 1)}};
}

}  // namespace omnirt
