#pragma once
#include "blocks/clip_image.hpp"
#include "networks/siglip2_vision_model/model.hpp"

namespace omnirt::blocks {

// How an image is prepared for SigLIP2's image encoder: preprocessor_config.json of
// Siglip2ImageProcessor. It is resized to whole patches in its own proportions, as many as there
// may be at the most.
struct Siglip2ImageProcessor final : ImageProcessor {
  CLIPImageProcessor pixels;  // whose size follows from the image
  int64_t patch_size = 16;
  int64_t max_num_patches = 256;

  Tensor pixel_values(const io::Image& image) const override;
};

// Reads and checks; the keys that `json` lacks have the class's defaults. Throws Unsupported with
// all findings; `where` is the file.
Siglip2ImageProcessor read_siglip2_image_processor(const Json& json, const std::string& where);
ImageProcessorInfo siglip2_image_processor_info();

// {height, width} in patches of an image of this size (reference:
// get_image_size_for_max_num_patches).
std::array<int64_t, 2> siglip2_patches(int64_t height, int64_t width, int64_t patch_size,
                                       int64_t max_num_patches);

// What the encoder takes of `pixels` {1, 3, H, W}, multiples of a patch. Positions are resized as
// torch resizes bilinearly with antialias (reference:
// Siglip2VisionEmbeddings.resize_positional_embeddings).
Siglip2Image siglip2_image(const Siglip2VisionConfig& config, const Tensor& pixels);

}  // namespace omnirt::blocks
