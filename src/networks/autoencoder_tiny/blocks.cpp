#include "networks/autoencoder_tiny/blocks.hpp"

namespace omnirt {
namespace {

// Beyond this, latents are bent back by a tanh before they are decoded.
constexpr double latent_bound = 3.0;

ops::Activation activation(const AutoencoderTinyConfig& config) {
  return ops::activation_from_name(config.act_fn, "act_fn");
}

constexpr nn::Conv2dOptions same{};
constexpr nn::Conv2dOptions same_without_bias{.bias = false};
constexpr nn::Conv2dOptions halving{.stride = 2, .bias = false};
constexpr nn::Conv2dOptions pointwise{1, 1, {0, 0, 0, 0}, false};

constexpr int64_t pool_widening = 4;
constexpr int64_t pool_groups = 4;
constexpr double pool_eps = 1e-5;

}  // namespace

AutoencoderTinyPool::AutoencoderTinyPool(Module* parent, const std::string& name, int64_t channels)
    : Module(parent, name),
      widen_(this, "0", channels, pool_widening * channels, pointwise),
      norm_(this, "1", pool_groups, pool_widening * channels, pool_eps),
      narrow_(this, "3", pool_widening * channels, channels, pointwise) {}

Tensor AutoencoderTinyPool::forward(Context& cx, const Tensor& x) const {
  Tensor h = norm_.forward(cx, widen_.forward(cx, x), ops::Activation::relu);
  return narrow_.forward(cx, h, {.residual = &x});
}

AutoencoderTinyBlock::AutoencoderTinyBlock(Module* parent, const std::string& name,
                                           int64_t channels, ops::Activation activation,
                                           bool with_pool)
    : Module(parent, name), conv(this, "conv"), activation_(activation) {
  for (size_t number : {0, 2, 4}) conv.add_at(number, channels, channels);
  if (with_pool) pool.emplace(this, "pool", channels);
}

Tensor AutoencoderTinyBlock::forward(Context& cx, const Tensor& input) const {
  return cx.segment(path(), [&] {
    Tensor x = pool ? pool->forward(cx, input) : input;
    Tensor h = conv[0].forward(cx, x, {.activation = activation_});
    h = conv[1].forward(cx, h, {.activation = activation_});
    // ReLU after the residual, whatever act_fn says.
    return conv[2].forward(cx, h, {.activation = ops::Activation::relu, .residual = &x});
  });
}

void AutoencoderTinyLayers::add_conv(int64_t in, int64_t out, const nn::Conv2dOptions& options,
                                     ops::Activation activation) {
  Step& step = steps_.emplace_back();
  step.conv = std::make_unique<nn::Conv2d>(this, next_name(), in, out, options);
  step.activation = activation;
  step.upsample = std::exchange(upsample_, 1);
  if (activation != ops::Activation::none) ++number_;
}

void AutoencoderTinyLayers::add_block(int64_t channels, ops::Activation activation,
                                      bool with_pool) {
  steps_.emplace_back().block =
      std::make_unique<AutoencoderTinyBlock>(this, next_name(), channels, activation, with_pool);
}

void AutoencoderTinyLayers::add_upsample(int64_t factor) {
  upsample_ = factor;
  ++number_;
}

Tensor AutoencoderTinyLayers::convolve(Context& cx, const Step& step, const Tensor& x) const {
  nn::ConvEpilogue epilogue{.activation = step.activation};
  if (step.upsample > 1) {
    epilogue.upsample_to = {step.upsample * x.size(2), step.upsample * x.size(3)};
  }
  return step.conv->forward(cx, x, epilogue);
}

Tensor AutoencoderTinyLayers::forward(Context& cx, Tensor x) const {
  for (const Step& step : steps_) {
    x = step.block ? step.block->forward(cx, x) : convolve(cx, step, x);
  }
  return x;
}

EncoderTiny::EncoderTiny(Module* parent, const std::string& name,
                         const AutoencoderTinyConfig& config)
    : Module(parent, name), layers(this, "layers") {
  int64_t width = config.encoder_block_out_channels.front();
  size_t levels = config.num_encoder_blocks.size();
  for (size_t level = 0; level < levels; ++level) {
    bool pools = config.flux_2() && level + 1 == levels;
    if (level == 0) {
      layers.add_conv(config.in_channels, width, same);
    } else {
      layers.add_conv(width, width, halving);
    }
    for (int64_t i = 0; i < config.num_encoder_blocks[level]; ++i) {
      layers.add_block(width, activation(config), pools);
    }
  }
  layers.add_conv(width, config.latent_channels, same);
}

Tensor EncoderTiny::forward(Context& cx, const Tensor& image) const {
  return layers.forward(cx, cx.ops().affine(cx, {image, 0.5, 0.5}));  // -1..1 to 0..1
}

DecoderTiny::DecoderTiny(Module* parent, const std::string& name,
                         const AutoencoderTinyConfig& config)
    : Module(parent, name), layers(this, "layers") {
  int64_t width = config.decoder_block_out_channels.front();
  layers.add_conv(config.latent_channels, width, same, activation(config));
  size_t levels = config.num_decoder_blocks.size();
  for (size_t level = 0; level < levels; ++level) {
    bool pools = config.flux_2() && level == 0;
    for (int64_t i = 0; i < config.num_decoder_blocks[level]; ++i) {
      layers.add_block(width, activation(config), pools);
    }
    if (level + 1 == levels) break;
    layers.add_upsample(config.upsampling_scaling_factor);
    layers.add_conv(width, width, same_without_bias);
  }
  layers.add_conv(width, config.out_channels, same);
}

Tensor DecoderTiny::forward(Context& cx, const Tensor& latents) const {
  Tensor x = layers.forward(cx, cx.ops().soft_clamp(cx, {latents, latent_bound}));
  return cx.ops().affine(cx, {x, 2.0, -1.0});  // 0..1 to -1..1
}

}  // namespace omnirt
