#pragma once
#include "guiders/true_guidance.hpp"
#include "networks/clip_text_model/model.hpp"
#include "networks/flux_transformer_2d_model/model.hpp"
#include "networks/t5_encoder_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::flux {

// Checks whether the folder's parts fit each other, and guidance the prompts; does nothing in a
// run.
class CheckParts final : public Block {
 public:
  Config<double> true_cfg_scale{this, guider_keys::true_cfg_scale};
  Described<std::vector<std::string>> prompt{this, "prompt"};
  Described<FluxTransformer2DModel> transformer{this, "transformer"};
  Described<CLIPTextModel> text_encoder{this, "text_encoder"};
  Described<T5EncoderModel> text_encoder_2{this, "text_encoder_2"};
  Described<nn::Autoencoder> vae{this, "vae"};

  CheckParts() : Block("check_parts", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;

 private:
  void check_channels(Checks& checks) const;
  void check_texts(Checks& checks) const;
  void check_negative(Checks& checks) const;
};

}  // namespace omnirt::flux
