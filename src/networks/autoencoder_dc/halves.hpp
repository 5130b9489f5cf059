#pragma once
#include <memory>
#include <vector>

#include "networks/autoencoder_dc/blocks.hpp"

namespace omnirt {

// The layers of a level, and a change of size before or after them. The checkpoint has them all in
// one list.
class DCStage final : public nn::Module {
 public:
  DCStage(Module* parent, const std::string& name) : Module(parent, name) {}
  void add_layers(const DCLevel& level, int64_t head_dim);
  void add_down(int64_t in, int64_t out, bool unshuffles);
  void add_up(int64_t in, int64_t out, bool interpolates);
  // Up, the layers, down.
  Tensor forward(Context& cx, const Tensor& x) const;

 private:
  std::string next() const { return std::to_string(count_); }

  size_t count_ = 0;
  std::unique_ptr<DCUpBlock> up_;
  std::vector<std::unique_ptr<DCLayer>> layers_;
  std::unique_ptr<DCDownBlock> down_;
};

// diffusers autoencoder_dc.py Encoder.
class DCEncoder final : public nn::Module {
 public:
  DCEncoder(Module* parent, const std::string& name, const AutoencoderDCConfig& config);
  // {B, in_channels, H, W} -> {B, latent_channels, h, w}.
  Tensor forward(Context& cx, const Tensor& image) const;

  nn::Conv2d conv_in;
  nn::ModuleList<DCStage> down_blocks;
  nn::Conv2d conv_out;

 private:
  int64_t shortcut_ = 0;  // channels that a latent is the mean of; 0: none
};

// diffusers autoencoder_dc.py Decoder.
class DCDecoder final : public nn::Module {
 public:
  DCDecoder(Module* parent, const std::string& name, const AutoencoderDCConfig& config);
  // {B, latent_channels, h, w} -> {B, in_channels, H, W}.
  Tensor forward(Context& cx, const Tensor& latents) const;

  nn::Conv2d conv_in;
  nn::ModuleList<DCStage> up_blocks;  // from the finest on; the coarsest comes first in a run
  nn::BiasedRmsNorm norm_out;
  nn::Conv2d conv_out;

 private:
  int64_t shortcut_ = 0;  // channels that each latent is added to; 0: none
  ops::Activation activation_;
};

}  // namespace omnirt
