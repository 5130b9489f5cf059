#pragma once
#include "networks/autoencoder_dc/halves.hpp"
#include "nn/autoencoder.hpp"

namespace omnirt {

// The deep compression autoencoder (Chen et al. 2024, arXiv 2410.10733; diffusers
// autoencoder_dc.py): 32 pixels a latent and side, and no noise between the two.
class AutoencoderDC final : public nn::Autoencoder {
 public:
  AutoencoderDC(const AutoencoderDCConfig& config, Json json);
  const char* class_name() const override { return "AutoencoderDC"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  Tensor encode(Context& cx, const Tensor& image, const nn::NoiseSource& noise) const override;
  Tensor decode(Context& cx, const Tensor& latents) const override;
  // The reference's tile_sample_min_height, and by how much of it tile_sample_stride_height is
  // less.
  std::optional<int64_t> tile_size() const override { return 512; }
  int64_t parts_of_tile() const override { return 8; }

  bool samples() const override { return false; }
  int64_t latent_channels() const override { return config_.latent_channels; }
  int64_t image_channels() const override { return config_.in_channels; }
  nn::LatentFactors factors() const override {
    return {.side = int64_t{1} << (config_.encoder_block_out_channels.size() - 1)};
  }
  double scaling_factor() const override { return config_.scaling_factor; }
  double shift_factor() const override { return 0; }
  bool force_upcast() const override { return false; }

  DCEncoder encoder;
  DCDecoder decoder;

 private:
  AutoencoderDCConfig config_;
};

const nn::NetworkInfo& autoencoder_dc_info();

}  // namespace omnirt
