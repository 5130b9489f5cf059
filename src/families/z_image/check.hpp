#pragma once
#include "guiders/original_guidance.hpp"
#include "networks/z_image_transformer_2d_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"

namespace omnirt::z_image {

// Checks whether the folder's parts fit each other, and has the keys of the usual guider; does
// nothing in a run.
class CheckParts final : public Block {
 public:
  Config<double> cfg_normalization{this, guider_keys::cfg_normalization};
  Config<double> cfg_truncation{this, guider_keys::cfg_truncation};
  Described<ZImageTransformer2DModel> transformer{this, "transformer"};
  Described<nn::Autoencoder> vae{this, "vae"};

  // omni: whether the transformer must look at images to go by.
  explicit CheckParts(bool omni) : Block("check_parts", Stage::prepare_conditions), omni_(omni) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;

 private:
  bool omni_;
};

}  // namespace omnirt::z_image
