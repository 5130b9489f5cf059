#pragma once
#include <array>
#include <optional>

#include "networks/controlnet_model/config.hpp"
#include "nn/blocks/control_embedding.hpp"
#include "nn/blocks/time_embedding.hpp"
#include "nn/blocks/unet_2d_blocks.hpp"
#include "nn/denoiser_network.hpp"

namespace omnirt {

struct ControlNetInput {
  Tensor sample;                           // {B, C, H, W}
  Tensor timestep;                         // {B} or {1}
  nn::DistinctRows encoder_hidden_states;  // {B, T, D}
  Tensor controlnet_cond;  // {B or 1, conditioning_channels, H scale, W scale}, 0..1
  // As in UNetInput, where reads_text_time.
  std::optional<Tensor> text_embeds{};
  std::optional<Tensor> time_ids{};

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("controlnet_cond", self.controlnet_cond);
    v("text_embeds", self.text_embeds);
    v("time_ids", self.time_ids);
  }
};

// What is to be added to a UNet's down path, not scaled yet.
struct ControlNetOutput {
  std::vector<Tensor> down_block_res_samples;  // one for each of the UNet's skip connections
  Tensor mid_block_res_sample;
};

// A copy of a UNet's down path that reads a control image (Zhang et al. 2023, arXiv 2302.05543;
// diffusers controlnet.py).
class ControlNetModel final : public nn::Network {
 public:
  ControlNetModel(const ControlNetConfig& config, Json json);
  const char* class_name() const override { return "ControlNetModel"; }
  nn::Metadata metadata() const override;

  ControlNetOutput forward(Context& cx, const ControlNetInput& input) const;
  // {C, H, W} of each residual of latents of this size, the mid block's last.
  std::vector<std::array<int64_t, 3>> residual_shapes(int64_t height, int64_t width) const;

  bool reads_text_time() const { return add_embedding.has_value(); }
  int64_t in_channels() const { return config_.unet.in_channels; }
  int64_t conditioning_channels() const { return config_.conditioning_channels; }
  // Pixels of the control image per latent.
  int64_t scale_factor() const;
  int64_t context_dim() const;
  // Residuals hold for the whole image: each is to be averaged over its pixels.
  bool global_pool_conditions() const { return config_.global_pool_conditions; }

  nn::Conv2d conv_in;
  nn::TimestepEmbedding time_embedding;
  nn::ControlNetConditioningEmbedding controlnet_cond_embedding;
  nn::ModuleList<nn::UNetDownBlock2D> down_blocks;
  nn::ModuleList<nn::Conv2d> controlnet_down_blocks;
  std::optional<nn::TimestepEmbedding> add_embedding;
  nn::UNetMidBlock2D mid_block;
  nn::Conv2d controlnet_mid_block;

 private:
  Tensor time_embedded(Context& cx, const ControlNetInput& input) const;
  // The control image, embedded: made once where it stays the same through a run.
  Tensor condition(Context& cx, const Tensor& image) const;

  ControlNetConfig config_;
};

const nn::NetworkInfo& controlnet_model_info();

}  // namespace omnirt
