#pragma once
#include <optional>

#include "networks/unet_spatio_temporal_condition_model/blocks.hpp"
#include "networks/unet_spatio_temporal_condition_model/config.hpp"
#include "nn/denoiser_network.hpp"

namespace omnirt {

struct UNetSpatioTemporalInput {
  Tensor sample;                        // {B, F, C, H, W}
  Tensor timestep;                      // {B} or {1}; may be fractional
  Tensor encoder_hidden_states;         // {B, S, D}
  Tensor added_time_ids;                // {B, ids}
  std::optional<Tensor> image_latents;  // {B, F, C', H, W}, joined to the sample's channels

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("added_time_ids", self.added_time_ids);
    v("image_latents", self.image_latents);
  }
};

// The denoising network of Stable Video Diffusion (Blattmann et al. 2023, arXiv 2311.15127;
// diffusers unet_spatio_temporal_condition.py).
class UNetSpatioTemporalConditionModel final : public nn::DenoiserNetwork {
 public:
  UNetSpatioTemporalConditionModel(const UNetSpatioTemporalConfig& config, Json json);
  const char* class_name() const override { return "UNetSpatioTemporalConditionModel"; }
  nn::Metadata metadata() const override;

  // {B, F, out_channels, H, W}. Sizes need not be multiples of the downsampling.
  Tensor forward(Context& cx, const UNetSpatioTemporalInput& input) const;
  Tensor predict(Context& cx, const Values& inputs) const override;
  std::vector<nn::NetworkInput> inputs() const override;

  int64_t in_channels() const override { return config_.in_channels; }
  int64_t out_channels() const override { return config_.out_channels; }
  std::array<int64_t, 2> sample_size() const override;
  int64_t context_dim() const override;
  // Frames that it was trained on.
  int64_t num_frames() const { return config_.num_frames; }
  // The width of one embedded number of added_time_ids, and of all that are taken.
  int64_t added_number_dim() const { return config_.addition_time_embed_dim; }
  int64_t added_dim() const { return config_.projection_class_embeddings_input_dim; }

  nn::Conv2d conv_in;
  nn::TimestepEmbedding time_embedding;
  nn::TimestepEmbedding add_embedding;
  nn::ModuleList<SpatioTemporalDownBlock> down_blocks;
  nn::ModuleList<SpatioTemporalUpBlock> up_blocks;
  std::optional<UNetMidBlockSpatioTemporal> mid_block;
  nn::GroupNorm conv_norm_out;
  nn::Conv2d conv_out;

 private:
  void add_blocks();
  SpatioTemporalBlockOptions level_options(const SpatioTemporalLevel& level) const;
  VideoCall call_of(Context& cx, const UNetSpatioTemporalInput& input) const;
  // {B, temb}, activated.
  Tensor time_embedded(Context& cx, const UNetSpatioTemporalInput& input) const;

  UNetSpatioTemporalConfig config_;
};

const nn::NetworkInfo& unet_spatio_temporal_condition_model_info();

}  // namespace omnirt
