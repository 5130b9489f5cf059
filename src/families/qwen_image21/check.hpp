#pragma once
#include "io/image_format.hpp"
#include "networks/qwen3_vl_for_conditional_generation/model.hpp"
#include "networks/qwen_image21_transformer_2d_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::qwen_image21 {

// Checks whether the folder's parts fit each other; does nothing in a run.
class CheckParts final : public Block {
 public:
  Config<std::string> output{this, keys::output};
  Config<io::ImageFormat> output_format{this, keys::output_format};
  Described<QwenImage21Transformer2DModel> transformer{this, "transformer"};
  Described<Qwen3VLForConditionalGeneration> text_encoder{this, "text_encoder"};
  Described<nn::Autoencoder> vae{this, "vae"};

  CheckParts() : Block("check_parts", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
};

}  // namespace omnirt::qwen_image21
