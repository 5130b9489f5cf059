#pragma once
#include "networks/qwen2_5_vl_for_conditional_generation/model.hpp"
#include "networks/qwen_image_transformer_2d_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::qwen_image {

// Checks whether the folder's parts fit each other; does nothing in a run.
class CheckParts final : public Block {
 public:
  Described<QwenImageTransformer2DModel> transformer{this, "transformer"};
  Described<Qwen25VLForConditionalGeneration> text_encoder{this, "text_encoder"};
  Described<nn::Autoencoder> vae{this, "vae"};

  CheckParts() : Block("check_parts", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
};

// Settles width and height: the request's, which must be whole patches of latents, or the
// reference's 1024. An image that is given is resized to them.
class ImageSize final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Described<QwenImageTransformer2DModel> transformer{this, "transformer"};
  Described<nn::Autoencoder> vae{this, "vae"};

  ImageSize() : Block("image_size", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;
};

}  // namespace omnirt::qwen_image
