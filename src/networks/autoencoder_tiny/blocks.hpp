#pragma once
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "networks/autoencoder_tiny/config.hpp"
#include "nn/layers.hpp"

namespace omnirt {

// x + what a normalised perceptron over four times the channels makes of it (github
// madebyollin/taesd, taesd.py Block's pool): the norm's statistics are the whole image's.
class AutoencoderTinyPool final : public nn::Module {
 public:
  AutoencoderTinyPool(Module* parent, const std::string& name, int64_t channels);
  const char* class_name() const override { return "AutoencoderTinyPool"; }
  Tensor forward(Context& cx, const Tensor& x) const;

 private:
  nn::Conv2d widen_;    // 0
  nn::GroupNorm norm_;  // 1, and an activation
  nn::Conv2d narrow_;   // 3
};

// Three convolutions with a residual (diffusers unet_2d_blocks.py AutoencoderTinyBlock), of the
// input or of what a pool makes of it.
class AutoencoderTinyBlock final : public nn::Module {
 public:
  AutoencoderTinyBlock(Module* parent, const std::string& name, int64_t channels,
                       ops::Activation activation, bool with_pool);
  const char* class_name() const override { return "AutoencoderTinyBlock"; }
  Tensor forward(Context& cx, const Tensor& input) const;

  nn::ModuleList<nn::Conv2d> conv;  // 0, 2, 4: the numbers between are activations
  std::optional<AutoencoderTinyPool> pool;

 private:
  ops::Activation activation_;
};

// The checkpoint's "layers": convolutions and blocks in one sequence, numbered together with the
// activations and upsamplings between them.
class AutoencoderTinyLayers final : public nn::Module {
 public:
  AutoencoderTinyLayers(Module* parent, const std::string& name) : Module(parent, name) {}

  void add_conv(int64_t in, int64_t out, const nn::Conv2dOptions& options,
                ops::Activation activation = ops::Activation::none);
  void add_block(int64_t channels, ops::Activation activation, bool with_pool);
  // Upsamples before the convolution that comes next.
  void add_upsample(int64_t factor);
  Tensor forward(Context& cx, Tensor x) const;

 private:
  struct Step {
    std::unique_ptr<nn::Conv2d> conv;
    std::unique_ptr<AutoencoderTinyBlock> block;
    ops::Activation activation = ops::Activation::none;
    int64_t upsample = 1;
  };
  std::string next_name() { return std::to_string(number_++); }
  Tensor convolve(Context& cx, const Step& step, const Tensor& x) const;

  std::vector<Step> steps_;
  size_t number_ = 0;
  int64_t upsample_ = 1;
};

// {B, in_channels, H, W} -> {B, latent_channels, H / 2^(levels - 1), ..} (diffusers vae.py
// EncoderTiny).
class EncoderTiny final : public nn::Module {
 public:
  EncoderTiny(Module* parent, const std::string& name, const AutoencoderTinyConfig& config);
  const char* class_name() const override { return "EncoderTiny"; }
  Tensor forward(Context& cx, const Tensor& image) const;

  AutoencoderTinyLayers layers;
};

// {B, latent_channels, h, w} -> {B, out_channels, h * factor^(levels - 1), ..} (diffusers vae.py
// DecoderTiny).
class DecoderTiny final : public nn::Module {
 public:
  DecoderTiny(Module* parent, const std::string& name, const AutoencoderTinyConfig& config);
  const char* class_name() const override { return "DecoderTiny"; }
  Tensor forward(Context& cx, const Tensor& latents) const;

  AutoencoderTinyLayers layers;
};

}  // namespace omnirt
