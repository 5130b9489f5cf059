#pragma once
#include "guiders/skipped_guidance.hpp"
#include "networks/clip_text_model/model.hpp"
#include "networks/sd3_transformer_2d_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::sd3 {

// Looks at whether the folder's parts fit each other, and has the keys of the usual guider; does
// nothing in a run.
class CheckParts final : public Block {
 public:
  Config<std::vector<int64_t>> layers{this, guider_keys::skip_guidance_layers};
  Config<double> scale{this, guider_keys::skip_layer_guidance_scale};
  Config<double> start{this, guider_keys::skip_layer_guidance_start};
  Config<double> stop{this, guider_keys::skip_layer_guidance_stop};
  Described<SD3Transformer2DModel> transformer{this, "transformer"};
  Described<CLIPTextModel> text_encoder{this, "text_encoder"};
  Described<CLIPTextModel> text_encoder_2{this, "text_encoder_2"};
  Described<nn::Autoencoder> vae{this, "vae"};

  CheckParts() : Block("check_parts", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;

 private:
  void check_channels(Checks& checks) const;
  void check_texts(Checks& checks) const;
  void check_skipped(Checks& checks) const;
};

// Settles width and height: the request's, which must be whole tokens and no more than the
// transformer has positions for, or the size that it was trained on. An image that is given is
// resized to them.
class ImageSize final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Described<SD3Transformer2DModel> transformer{this, "transformer"};
  Described<nn::Autoencoder> vae{this, "vae"};

  ImageSize() : Block("image_size", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;
};

}  // namespace omnirt::sd3
