#pragma once
#include "networks/chroma_transformer_2d_model/model.hpp"
#include "networks/t5_encoder_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"

namespace omnirt::chroma {

// Checks whether the folder's parts fit each other; does nothing in a run.
class CheckParts final : public Block {
 public:
  Described<ChromaTransformer2DModel> transformer{this, "transformer"};
  Described<T5EncoderModel> text_encoder{this, "text_encoder"};
  Described<nn::Autoencoder> vae{this, "vae"};

  CheckParts() : Block("check_parts", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
};

}  // namespace omnirt::chroma
