#pragma once
#include <memory>
#include <vector>

#include "blocks/autoencoder_tiles.hpp"
#include "blocks/slots.hpp"
#include "families/qwen_image_edit/references.hpp"
#include "families/qwen_image_edit/sizes.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "tensor/generator.hpp"

// What is Qwen-Image-Layered's own. Its latents are those of the image as a whole and of each
// layer, below each other: one image {C, (layers + 1) h, w} to the loop and the scheduler.
namespace omnirt::qwen_image_edit {

inline constexpr Key<int64_t> layers{"layers",
                                     int64_t{4},
                                     {1, 32},
                                     "layers",
                                     "layers that an image is taken apart into; one file each"};
inline constexpr Key<int64_t> resolution{
    "resolution",
    int64_t{640},
    {32, 2048},
    "resolution",
    "side of the square of as many pixels as a layer has; the model was trained at 640 and 1024"};

inline constexpr Slot<Tensor> sample_ids{
    "sample_ids", "positions of the layers' tokens: layer, row, column", {"1", "L", "3"}};
inline constexpr Slot<Tensor> additional_t_cond{
    "additional_t_cond", "0: the images have an alpha channel", {"1"}};

// Checks whether the folder's parts fit each other, and settles width and height: those of the
// image at `resolution` squared pixels (reference: QwenImageLayeredPipeline.__call__).
class CheckLayered final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<int64_t> side{this, resolution};
  Config<std::string> output{this, keys::output};
  Config<io::ImageFormat> output_format{this, keys::output_format};
  Described<QwenImageTransformer2DModel> transformer{this, "transformer"};
  Described<Qwen25VLForConditionalGeneration> text_encoder{this, "text_encoder"};
  Described<nn::Autoencoder> vae{this, "vae"};
  Described<io::Image> image{this, "image"};

  CheckLayered() : Block("check_layered", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;

 private:
  void check_parts(Checks& checks) const;
};

// Noise for the whole and each layer (reference: QwenImageLayeredPipeline.prepare_latents), and
// where their tokens are.
class PrepareLayers final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<int64_t> count{this, layers};
  Input<Schedule> schedule{this, slots::schedule};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Tensor> latents{this, slots::latents};
  Output<Tensor> ids{this, sample_ids};
  Output<Tensor> additional{this, additional_t_cond};

  PrepareLayers() : Block("prepare_layers", Stage::prepare_latents) {}
  void run(Frame& frame) const override;
};

// The image to take apart, with its alpha channel, as tokens after the layers'.
class EncodeWhole final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<int64_t> count{this, layers};
  blocks::TilingPorts tiling{this};
  Input<io::Image> image{this, slots::image};
  Output<Tensor> latents{this, slots::reference_latents};
  Output<Tensor> ids{this, slots::reference_ids};
  Output<Tensor> start{this, text_start};

  EncodeWhole() : Block("encode_whole", Stage::prepare_latents) {}
  void check(Checks& checks) const override;
  void run(Frame& frame) const override;
};

// The layers of each image, in their order, with alpha; the image as a whole is left out, as in the
// reference.
class DecodeLayers final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> count{this, layers};
  blocks::TilingPorts tiling{this};
  Input<Tensor> latents{this, slots::latents};
  Output<std::vector<io::Image>> images{this, slots::images};
  Output<Tensor> decoded_images{this, slots::decoded_images};

  DecodeLayers() : Block("decode_layers", Stage::decode) {}
  void check(Checks& checks) const override;
  void run(Frame& frame) const override;
};

}  // namespace omnirt::qwen_image_edit
