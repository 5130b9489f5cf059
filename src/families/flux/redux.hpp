#pragma once
#include <vector>

#include "blocks/control_keys.hpp"
#include "blocks/slots.hpp"
#include "families/flux/encode_prompt.hpp"
#include "io/image.hpp"
#include "networks/redux_image_encoder/model.hpp"
#include "networks/siglip_vision_model/model.hpp"
#include "pipeline/image_processor.hpp"

namespace omnirt::keys {

inline constexpr Key<Json> prompt_embeds_scale{
    "prompt_embeds_scale",
    1.0,
    {},
    "",
    "how strongly an image of redux_image counts, with the prompt before it: a number, or a list "
    "with one for each image",
    "",
    "number|list"};
inline constexpr Key<Json> pooled_prompt_embeds_scale{
    "pooled_prompt_embeds_scale",
    1.0,
    {},
    "",
    "the same of what the prompt means as a whole",
    "",
    "number|list"};

}  // namespace omnirt::keys

namespace omnirt::flux {

// FLUX.1 Redux: images as a text behind the prompt's, summed up by their scales (reference:
// FluxPriorReduxPipeline). An empty prompt is none: zeros, as in the reference without text
// encoders.
class EncodeRedux final : public Block {
 public:
  Component<SiglipVisionModel> image_encoder{this, "image_encoder"};
  Component<ReduxImageEncoder> image_embedder{this, "image_embedder"};
  Described<nn::DenoiserNetwork> transformer{this, "transformer"};
  Described<ImageProcessor> feature_extractor{this, "feature_extractor"};
  Config<Json> image_processor{this, keys::image_processor};
  Config<Json> scale{this, keys::prompt_embeds_scale};
  Config<Json> pooled_scale{this, keys::pooled_prompt_embeds_scale};
  Input<std::vector<io::Image>> redux_image{this, "redux_image",
                                            "images that the result is to resemble"};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  OptionalInput<std::vector<std::string>> prompt_2{
      this, "prompt_2", "what the second text encoder reads in place of the prompt"};
  InOut<Tensor> prompt_embeds{this, slots::prompt_embeds};
  InOut<Tensor> pooled{this, pooled_prompt_embeds};

  EncodeRedux();
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;

 private:
  // {images, T, D}.
  Tensor encoded(Frame& frame) const;
  void settle_image_processor(Checks& checks) const;
};

}  // namespace omnirt::flux
