#pragma once
#include "blocks/binned_size.hpp"
#include "networks/sana_transformer_2d_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"

namespace omnirt::sana {

// Checks whether the folder's parts fit each other; does nothing in a run.
class CheckParts final : public Block {
 public:
  Described<SanaTransformer2DModel> transformer{this, "transformer"};
  Described<nn::Autoencoder> vae{this, "vae"};

  CheckParts() : Block("check_parts", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
};

// The sizes that it was trained on.
blocks::BinnedSizes sana_sizes();

}  // namespace omnirt::sana
