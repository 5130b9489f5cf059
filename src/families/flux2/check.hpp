#pragma once
#include "networks/flux2_transformer_2d_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::flux2 {

// Whether the model keeps what its blocks make of reference images.
Trigger keeps_references();

// Checks whether the folder's parts fit each other, and guidance the model; does nothing in a
// run.
class CheckParts final : public Block {
 public:
  Config<double> guidance_scale{this, keys::guidance_scale};
  Described<Flux2Transformer2DModel> transformer{this, "transformer"};
  Described<nn::Autoencoder> vae{this, "vae"};

  CheckParts() : Block("check_parts", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;

 private:
  void check_channels(Checks& checks) const;
  void check_guidance(Checks& checks) const;
};

}  // namespace omnirt::flux2
