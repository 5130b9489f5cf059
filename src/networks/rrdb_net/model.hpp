#pragma once
#include <array>

#include "networks/rrdb_net/config.hpp"
#include "nn/layers.hpp"
#include "nn/upscaler.hpp"

namespace omnirt {

// Five convolutions, each of which sees what those before it made, and a fifth of the result over
// the input (Wang et al. 2018, arXiv 1809.00219; BasicSR rrdbnet_arch.py ResidualDenseBlock).
class ResidualDenseBlock final : public nn::Module {
 public:
  ResidualDenseBlock(Module* parent, const std::string& name, const RRDBNetConfig& config);
  const char* class_name() const override { return "ResidualDenseBlock"; }
  // {B, num_feat, H, W}, the same.
  Tensor forward(Context& cx, const Tensor& x) const;

  nn::Conv2d conv1, conv2, conv3, conv4, conv5;
};

// Three of them, and a fifth of their result over the input.
class RRDB final : public nn::Module {
 public:
  RRDB(Module* parent, const std::string& name, const RRDBNetConfig& config);
  const char* class_name() const override { return "RRDB"; }
  Tensor forward(Context& cx, const Tensor& x) const;

  ResidualDenseBlock rdb1, rdb2, rdb3;
};

// The network of ESRGAN and Real-ESRGAN (Wang et al. 2021, arXiv 2107.10833; BasicSR
// rrdbnet_arch.py RRDBNet), of any number of doublings.
class RRDBNet final : public nn::Upscaler {
 public:
  RRDBNet(const RRDBNetConfig& config, Json json);
  const char* class_name() const override { return "RRDBNet"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  Tensor upscale(Context& cx, const Tensor& image) const override;
  int64_t scale() const override { return config_.scale(); }
  int64_t multiple_of() const override { return config_.unshuffle; }

  nn::Conv2d conv_first;
  nn::ModuleList<RRDB> body;
  nn::Conv2d conv_body;
  std::vector<std::unique_ptr<nn::Conv2d>> conv_up;  // conv_up1, conv_up2, ...
  nn::Conv2d conv_hr, conv_last;

 private:
  RRDBNetConfig config_;
};

const nn::NetworkInfo& rrdb_net_info();

}  // namespace omnirt
