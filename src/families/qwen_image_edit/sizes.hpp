#pragma once
#include "blocks/reference_images.hpp"
#include "io/image.hpp"
#include "networks/qwen2_5_vl_for_conditional_generation/model.hpp"
#include "networks/qwen_image_transformer_2d_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::qwen_image_edit {

using blocks::Size;
using blocks::size_of_area;

// What the transformer goes by, and what is made where no size is asked for.
inline constexpr int64_t latents_area = 1024 * 1024;
// What models that take several images look at; that of one image looks at the former.
inline constexpr int64_t looked_at_area = 384 * 384;

// The folder is of a model that takes several images.
Trigger takes_several_images();

// Checks whether the folder's parts fit each other, and settles width and height: the request's,
// or those of the last image at about a million pixels.
class CheckEdit final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Described<QwenImageTransformer2DModel> transformer{this, "transformer"};
  Described<Qwen25VLForConditionalGeneration> text_encoder{this, "text_encoder"};
  Described<nn::Autoencoder> vae{this, "vae"};
  Described<io::Image> image{this, "image"};
  Described<io::Image> mask{this, "mask"};
  Described<std::vector<io::Image>> references{this, "image_reference"};

  CheckEdit() : Block("check_edit", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;

 private:
  void check_parts(Checks& checks) const;
  // Whether the model takes as many images, and the mask.
  bool check_takes(Checks& checks, size_t images) const;
};

}  // namespace omnirt::qwen_image_edit
