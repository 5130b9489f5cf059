#pragma once
#include <array>
#include <optional>

#include "networks/t2i_adapter/config.hpp"
#include "nn/layers.hpp"
#include "nn/network.hpp"

namespace omnirt {

// Two convolutions with a residual (diffusers adapter.py AdapterResnetBlock, and
// LightAdapterResnetBlock, whose second convolution has kernel 3 too).
class AdapterResnetBlock final : public nn::Module {
 public:
  AdapterResnetBlock(Module* parent, const std::string& name, int64_t channels, bool light);
  const char* class_name() const override {
    return light_ ? "LightAdapterResnetBlock" : "AdapterResnetBlock";
  }
  Tensor forward(Context& cx, const Tensor& x) const;

  nn::Conv2d block1, block2;

 private:
  bool light_;
};

// One feature of an adapter: halved by averaging, brought to its width, and some resnets (diffusers
// adapter.py AdapterBlock, and LightAdapterBlock, whose resnets are a quarter as wide).
class AdapterBlock final : public nn::Module {
 public:
  struct Options {
    int64_t in = 0, out = 0;
    int64_t resnets = 2;
    bool down = false;
    bool light = false;
  };
  AdapterBlock(Module* parent, const std::string& name, const Options& options);
  const char* class_name() const override {
    return options_.light ? "LightAdapterBlock" : "AdapterBlock";
  }
  Tensor forward(Context& cx, const Tensor& x) const;
  bool down() const { return options_.down; }
  int64_t out() const { return options_.out; }

  std::optional<nn::Conv2d> in_conv;
  nn::ModuleList<AdapterResnetBlock> resnets;
  std::optional<nn::Conv2d> out_conv;

 private:
  Options options_;
};

// The checkpoint's "adapter": the convolution that light adapters lack, and a block per feature.
class AdapterTree final : public nn::Module {
 public:
  AdapterTree(Module* parent, const std::string& name, const T2IAdapterConfig& config);
  const char* class_name() const override;

  std::optional<nn::Conv2d> conv_in;
  nn::ModuleList<AdapterBlock> body;

 private:
  std::string type_;
};

// A small network that makes features of a control image, which are added to a UNet's down path
// (Mou et al. 2023, arXiv 2302.08453; diffusers adapter.py).
class T2IAdapter final : public nn::Network {
 public:
  T2IAdapter(const T2IAdapterConfig& config, Json json);
  const char* class_name() const override { return "T2IAdapter"; }
  nn::Metadata metadata() const override;

  // image {B, in_channels, H, W} in 0..1; H and W multiples of downscale_factor. One feature per
  // block, {B, C, h, w}, from the largest down.
  std::vector<Tensor> forward(Context& cx, const Tensor& image) const;
  // {C, h, w} of each feature of an image of this size.
  std::vector<std::array<int64_t, 3>> feature_shapes(int64_t height, int64_t width) const;

  int64_t in_channels() const { return config_.in_channels; }
  int64_t downscale_factor() const { return config_.downscale_factor; }

  AdapterTree adapter;

 private:
  T2IAdapterConfig config_;
};

const nn::NetworkInfo& t2i_adapter_info();

}  // namespace omnirt
