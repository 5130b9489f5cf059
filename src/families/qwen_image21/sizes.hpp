#pragma once
#include <vector>

#include "blocks/reference_images.hpp"
#include "io/image.hpp"
#include "networks/qwen3_vl_for_conditional_generation/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::qwen_image21 {

inline constexpr Slot<std::vector<io::Image>> image_reference{
    "image_reference", "further images to go by", {}};
inline constexpr Key<int64_t> output_resolution{
    "output_resolution",
    int64_t{1024},
    {32, 4096},
    "output-resolution",
    "side of the square of as many pixels as images to go by are seen and encoded at, and as the "
    "image has that is made of them"};

// Pixels of a side of what the text encoder sees as one token: 2x2 latents.
inline constexpr int64_t pixels_of_square = 32;

// All images to go by, in RGBA, of as many pixels as the square has and in their own proportions
// (reference: QwenImage21Pipeline.__call__, calculate_dimensions).
std::vector<io::Image> resized_images(const io::Image& first, const std::vector<io::Image>* further,
                                      int64_t resolution);

// Settles width and height of what is made of images: those of the last of them at the resolution,
// unless the request says others.
class SizeOfLastImage final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<int64_t> resolution{this, output_resolution};
  Described<Qwen3VLForConditionalGeneration> text_encoder{this, "text_encoder"};
  Described<io::Image> image{this, "image"};
  Described<std::vector<io::Image>> references{this, "image_reference"};

  explicit SizeOfLastImage(Trigger trigger)
      : Block("size_of_last_image", Stage::prepare_conditions, Guidance::shared,
              std::move(trigger)) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
};

}  // namespace omnirt::qwen_image21
