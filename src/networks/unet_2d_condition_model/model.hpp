#pragma once
#include <optional>

#include "networks/unet_2d_condition_model/config.hpp"
#include "nn/blocks/time_embedding.hpp"
#include "nn/blocks/unet_2d_blocks.hpp"
#include "nn/denoiser_network.hpp"

namespace omnirt {

struct UNetInput {
  Tensor sample;                        // {B, C, H, W}
  Tensor timestep;                      // {B} or {1}; may be fractional
  Tensor encoder_hidden_states;         // {B, T, D}
  std::optional<Tensor> timestep_cond;  // {B, time_cond_proj_dim}

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("timestep_cond", self.timestep_cond);
  }
};

// The denoising network of Stable Diffusion (Rombach et al. 2021, arXiv 2112.10752; diffusers
// unet_2d_condition.py).
class UNet2DConditionModel final : public nn::DenoiserNetwork {
 public:
  UNet2DConditionModel(const UNet2DConditionConfig& config, Json json);
  const char* class_name() const override { return "UNet2DConditionModel"; }
  nn::Metadata metadata() const override;

  // {B, out_channels, H, W}. Sizes need not be multiples of the downsampling.
  Tensor forward(Context& cx, const UNetInput& input) const;
  Tensor predict(Context& cx, const nn::NamedTensors& inputs) const override;
  std::vector<nn::NetworkInput> inputs() const override;

  int64_t in_channels() const override { return config_.in_channels; }
  int64_t out_channels() const override { return config_.out_channels; }
  std::array<int64_t, 2> sample_size() const override;
  int64_t context_dim() const override;
  std::optional<int64_t> time_cond_dim() const override { return config_.time_cond_proj_dim; }
  size_t cache_branches() const override { return skip_connections(); }

  nn::Conv2d conv_in;
  nn::TimestepEmbedding time_embedding;
  nn::ModuleList<nn::UNetDownBlock2D> down_blocks;
  nn::ModuleList<nn::UNetUpBlock2D> up_blocks;
  std::optional<nn::UNetMidBlock2D> mid_block;
  nn::GroupNorm conv_norm_out;
  nn::Conv2d conv_out;

 private:
  // The way down through the layers, each of which makes a skip connection, and the way up, where
  // each takes one.
  struct Walk {
    Tensor x;
    Tensor temb;
    Tensor context;
    std::vector<Tensor> skips;
  };
  void add_blocks();
  size_t skip_connections() const;
  // On from where the walk stands until there are `to` skip connections.
  void descend(Context& cx, Walk& walk, size_t to) const;
  // Until `to` are left.
  void ascend(Context& cx, Walk& walk, size_t to) const;
  // {B, temb}, activated: every resnet of the tree takes the same.
  Tensor time_embedded(Context& cx, const UNetInput& input) const;

  UNet2DConditionConfig config_;
  ops::Activation activation_;
};

const nn::NetworkInfo& unet_2d_condition_model_info();

}  // namespace omnirt
