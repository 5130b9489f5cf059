#pragma once
#include "networks/aura_flow_transformer_2d_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::aura_flow {

// Checks whether the folder's parts fit each other; does nothing in a run.
class CheckParts final : public Block {
 public:
  Described<AuraFlowTransformer2DModel> transformer{this, "transformer"};
  Described<nn::Autoencoder> vae{this, "vae"};

  CheckParts() : Block("check_parts", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
};

// Settles width and height: the request's, else 1024; and checks that they are whole tokens, and no
// more than the transformer has positions for.
class ImageSize final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Described<AuraFlowTransformer2DModel> transformer{this, "transformer"};
  Described<nn::Autoencoder> vae{this, "vae"};

  ImageSize() : Block("image_size", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;

 private:
  void check_side(Checks& checks, const Config<int64_t>& side) const;
};

}  // namespace omnirt::aura_flow
