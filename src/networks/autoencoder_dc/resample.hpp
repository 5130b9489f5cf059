#pragma once
#include "nn/layers.hpp"

namespace omnirt {

// Channels repeated, or averaged in groups, and pixels packed into channels or unpacked: what goes
// past the convolutions of AutoencoderDC (Chen et al. 2024, arXiv 2410.10733, 3.2). Images are
// channels-last.

// {B, C, H, W} -> {B, C r, H, W}: each channel r times in a row.
Tensor repeated_channels(const Tensor& x, int64_t repeats);
// {B, C g, H, W} -> {B, C, H, W}: the mean of g channels in a row.
Tensor grouped_mean(Context& cx, const Tensor& x, int64_t group);
// {B, 4 C, H, W} -> {B, C, 2 H, 2 W}, and back (torch's pixel_shuffle and pixel_unshuffle).
Tensor shuffled(const Tensor& x);
Tensor unshuffled(const Tensor& x);

// To half the size (diffusers autoencoder_dc.py DCDownBlock2d).
class DCDownBlock final : public nn::Module {
 public:
  // `unshuffles`: a convolution whose pixels become channels, in place of a strided one.
  DCDownBlock(Module* parent, const std::string& name, int64_t in, int64_t out, bool unshuffles);
  const char* class_name() const override { return "DCDownBlock2d"; }
  Tensor forward(Context& cx, const Tensor& x) const;

  nn::Conv2d conv;

 private:
  bool unshuffles_;
  int64_t group_;
};

// To twice the size (diffusers autoencoder_dc.py DCUpBlock2d).
class DCUpBlock final : public nn::Module {
 public:
  // `interpolates`: nearest pixels before the convolution, in place of its channels becoming
  // pixels.
  DCUpBlock(Module* parent, const std::string& name, int64_t in, int64_t out, bool interpolates);
  const char* class_name() const override { return "DCUpBlock2d"; }
  Tensor forward(Context& cx, const Tensor& x) const;

  nn::Conv2d conv;

 private:
  Tensor shortcut(Context& cx, const Tensor& x) const;

  bool interpolates_;
  int64_t repeats_;
};

}  // namespace omnirt
