#include "networks/autoencoder_kl_qwen_image/blocks.hpp"

namespace omnirt {

QwenImageUpBlock::QwenImageUpBlock(Module* parent, const std::string& name, int64_t in, int64_t out,
                                   int64_t count)
    : Module(parent, name), resnets(this, "resnets"), upsamplers(this, "upsamplers") {
  for (int64_t i = 0; i < count; ++i) resnets.add(i == 0 ? in : out, out);
}

Tensor QwenImageUpBlock::forward(Context& cx, Tensor x, nn::FrameState* state) const {
  for (size_t i = 0; i < resnets.size(); ++i) x = resnets[i].forward(cx, x, state);
  return upsamplers.empty() ? x : upsamplers[0].forward(cx, x, state);
}

QwenImageEncoder3d::QwenImageEncoder3d(Module* parent, const std::string& name,
                                       const AutoencoderKLQwenImageConfig& config)
    : Module(parent, name),
      conv_in(this, "conv_in", config.input_channels, config.base_dim, 3, 3),
      down_blocks(this, "down_blocks"),
      mid_block(this, "mid_block", config.channels().back()),
      norm_out(this, "norm_out", config.channels().back(), 3),
      conv_out(this, "conv_out", config.channels().back(), 2 * config.z_dim, 3, 3) {
  const std::vector<int64_t> channels = config.channels();
  int64_t in = config.base_dim;
  for (size_t level = 0; level < channels.size(); ++level) {
    for (int64_t i = 0; i < config.num_res_blocks; ++i) {
      down_blocks.add<nn::CausalResnet>(in, channels[level]);
      in = channels[level];
    }
    if (level + 1 < channels.size())
      down_blocks.add<nn::CausalResample>(in, in, nn::CausalResample::Way::down,
                                          config.temperal_downsample[level]);
  }
}

Tensor QwenImageEncoder3d::forward(Context& cx, const Tensor& image, nn::FrameState* state) const {
  Tensor x = conv_in.forward(cx, image, state);
  for (size_t i = 0; i < down_blocks.size(); ++i) x = down_blocks[i].forward(cx, x, state);
  x = mid_block.forward(cx, x, state);
  return conv_out.forward(cx, norm_out.activated(cx, x), state);
}

QwenImageDecoder3d::QwenImageDecoder3d(Module* parent, const std::string& name,
                                       const AutoencoderKLQwenImageConfig& config)
    : Module(parent, name),
      conv_in(this, "conv_in", config.z_dim, config.channels().back(), 3, 3),
      mid_block(this, "mid_block", config.channels().back()),
      up_blocks(this, "up_blocks"),
      norm_out(this, "norm_out", config.channels().front(), 3),
      conv_out(this, "conv_out", config.channels().front(), config.input_channels, 3, 3) {
  const std::vector<int64_t> channels = config.channels();
  int64_t in = channels.back();
  for (size_t level = channels.size(); level-- > 0;) {
    QwenImageUpBlock& block = up_blocks.add(in, channels[level], config.num_res_blocks + 1);
    if (level == 0) break;
    block.upsamplers.add(channels[level], channels[level] / 2, nn::CausalResample::Way::up,
                         config.temperal_downsample[level - 1]);
    in = channels[level] / 2;  // which the upsampler leaves
  }
}

Tensor QwenImageDecoder3d::forward(Context& cx, const Tensor& latents,
                                   nn::FrameState* state) const {
  Tensor x = mid_block.forward(cx, conv_in.forward(cx, latents, state), state);
  for (size_t i = 0; i < up_blocks.size(); ++i) x = up_blocks[i].forward(cx, std::move(x), state);
  return conv_out.forward(cx, norm_out.activated(cx, x), state);
}

}  // namespace omnirt
