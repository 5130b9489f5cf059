#pragma once
#include "networks/span/config.hpp"
#include "nn/layers.hpp"
#include "nn/upscaler.hpp"

namespace omnirt {

// A convolution of 3x3 that was trained as three in a row and one in parallel (Wan et al. 2023,
// arXiv 2311.12770; github hongyuanyu/SPAN span_arch.py Conv3XC). Files also hold a merged one,
// which training leaves out of step with its parts: as in the reference, the parts count.
class Conv3XC final : public nn::Module {
 public:
  Conv3XC(Module* parent, const std::string& name, int64_t in, int64_t out);
  const char* class_name() const override { return "Conv3XC"; }
  // {B, in, H, W} -> {B, out, H, W}.
  Tensor forward(Context& cx, const Tensor& x,
                 ops::Activation activation = ops::Activation::none) const;

 private:
  Tensor merged_weight(Context& cx) const;  // {out, in, 3, 3}
  Tensor merged_bias(Context& cx) const;    // {out}
  nn::Conv2d sk_;
  nn::ModuleList<nn::Conv2d> conv_;
};

// Three convolutions, and attention without parameters: the result's distance from 0 weighs it.
class Spab final : public nn::Module {
 public:
  Spab(Module* parent, const std::string& name, int64_t channels);
  const char* class_name() const override { return "SPAB"; }
  struct Output {
    Tensor result;
    Tensor first;  // of the first convolution, activated
  };
  Output forward(Context& cx, const Tensor& x) const;

 private:
  Conv3XC c1_r_, c2_r_, c3_r_;
};

// Swift parameter-free attention network (as above).
class Span final : public nn::Upscaler {
 public:
  Span(const SpanConfig& config, Json json);
  const char* class_name() const override { return "SPAN"; }
  nn::Metadata metadata() const override;
  nn::WeightMap weight_map() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  Tensor upscale(Context& cx, const Tensor& image) const override;
  int64_t scale() const override { return config_.upscale; }

 private:
  SpanConfig config_;
  Conv3XC conv_1_;
  Spab block_1_, block_2_, block_3_, block_4_, block_5_, block_6_;
  nn::Conv2d conv_cat_;
  Conv3XC conv_2_;
  nn::ModuleList<nn::Conv2d> upsampler_;
};

const nn::NetworkInfo& span_info();

}  // namespace omnirt
