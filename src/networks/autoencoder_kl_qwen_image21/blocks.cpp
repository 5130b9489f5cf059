#include "networks/autoencoder_kl_qwen_image21/blocks.hpp"

#include "networks/autoencoder_kl_qwen_image21/shortcuts.hpp"

namespace omnirt {
namespace {

using nn::FilterFrames;

// A convolution of images, in the files as well.
constexpr int64_t no_frames = 0;

}  // namespace

QwenImage21ResidualDownBlock::QwenImage21ResidualDownBlock(Module* parent, const std::string& name,
                                                           int64_t in, int64_t out, int64_t count,
                                                           bool halved, bool over_time)
    : Module(parent, name), resnets(this, "resnets"), out_(out), over_time_(over_time) {
  for (int64_t i = 0; i < count; ++i) resnets.add(i == 0 ? in : out, out, FilterFrames::none);
  if (halved)
    downsampler.emplace(this, "downsampler", out, out, nn::CausalResample::Way::down, over_time,
                        FilterFrames::none);
}

Tensor QwenImage21ResidualDownBlock::forward(Context& cx, const Tensor& x) const {
  const Tensor around = shortened(cx, x, out_, downsampler.has_value(), over_time_);
  Tensor h = x;
  for (size_t i = 0; i < resnets.size(); ++i) h = resnets[i].forward(cx, h);
  if (downsampler) return downsampler->added(cx, h, around);
  return cx.ops().add(cx, {h, around});
}

QwenImage21ResidualUpBlock::QwenImage21ResidualUpBlock(Module* parent, const std::string& name,
                                                       int64_t in, int64_t out, int64_t count,
                                                       bool doubled, bool over_time)
    : Module(parent, name), resnets(this, "resnets"), out_(out), over_time_(over_time) {
  for (int64_t i = 0; i < count; ++i) resnets.add(i == 0 ? in : out, out, FilterFrames::none);
  if (doubled)
    upsampler.emplace(this, "upsampler", out, out, nn::CausalResample::Way::up, over_time,
                      FilterFrames::none);
}

Tensor QwenImage21ResidualUpBlock::forward(Context& cx, const Tensor& x) const {
  Tensor h = x;
  for (size_t i = 0; i < resnets.size(); ++i) h = resnets[i].forward(cx, h);
  if (!upsampler) return h;
  const Tensor around = lengthened(cx, x, out_, over_time_);
  return upsampler->added(cx, h, around);
}

QwenImage21Encoder3d::QwenImage21Encoder3d(Module* parent, const std::string& name,
                                           const AutoencoderKLQwenImage21Config& config)
    : Module(parent, name),
      conv_in(this, "conv_in", config.in_channels, config.base_dim, no_frames, 3),
      down_blocks(this, "down_blocks"),
      mid_block(this, "mid_block", config.encoder_channels().back(), FilterFrames::none),
      norm_out(this, "norm_out", config.encoder_channels().back(), 3),
      conv_out(this, "conv_out", config.encoder_channels().back(), 2 * config.z_dim, no_frames, 3) {
  const std::vector<int64_t> channels = config.encoder_channels();
  int64_t in = config.base_dim;
  for (size_t level = 0; level < channels.size(); ++level) {
    const bool halved = level + 1 < channels.size();
    down_blocks.add(in, channels[level], config.num_res_blocks, halved,
                    halved && config.temperal_downsample[level]);
    in = channels[level];
  }
}

Tensor QwenImage21Encoder3d::forward(Context& cx, const Tensor& image) const {
  Tensor x = conv_in.forward(cx, image);
  for (size_t i = 0; i < down_blocks.size(); ++i) x = down_blocks[i].forward(cx, x);
  x = mid_block.forward(cx, x);
  return conv_out.forward(cx, norm_out.activated(cx, x));
}

QwenImage21Decoder3d::QwenImage21Decoder3d(Module* parent, const std::string& name,
                                           const AutoencoderKLQwenImage21Config& config)
    : Module(parent, name),
      conv_in(this, "conv_in", config.z_dim, config.decoder_channels().back(), no_frames, 3),
      mid_block(this, "mid_block", config.decoder_channels().back(), FilterFrames::none),
      up_blocks(this, "up_blocks"),
      norm_out(this, "norm_out", config.decoder_channels().front(), 3),
      conv_out(this, "conv_out", config.decoder_channels().front(), config.out_channels, no_frames,
               3) {
  const std::vector<int64_t> channels = config.decoder_channels();
  int64_t in = channels.back();
  for (size_t level = channels.size(); level-- > 0;) {
    const bool doubled = level > 0;
    up_blocks.add(in, channels[level], config.num_res_blocks + 1, doubled,
                  doubled && config.temperal_downsample[level - 1]);
    in = channels[level];
  }
}

Tensor QwenImage21Decoder3d::forward(Context& cx, const Tensor& latents) const {
  Tensor x = mid_block.forward(cx, conv_in.forward(cx, latents));
  for (size_t i = 0; i < up_blocks.size(); ++i) x = up_blocks[i].forward(cx, x);
  return conv_out.forward(cx, norm_out.activated(cx, x));
}

}  // namespace omnirt
