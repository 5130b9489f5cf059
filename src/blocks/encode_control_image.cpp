#include "blocks/encode_control_image.hpp"

#include "blocks/control_values.hpp"
#include "blocks/latents.hpp"
#include "pipeline/numbered.hpp"

namespace omnirt::blocks {

std::string control_values_name(size_t place) {
  return numbered("control_values", place);
}

const std::vector<std::string>& control_values_shape() {
  static const std::vector<std::string> shape{"N", "K", "KH", "KW"};
  return shape;
}

Trigger control_reads_mask(size_t place) {
  const std::string name = numbered("controlnet", place);
  return {[name](const Facts& facts) {
            const auto* network = facts.network<nn::ControlNetwork>(name);
            return network && network->reads_mask();
          },
          name + " reads a mask",
          {}};
}

EncodeControlImage::EncodeControlImage(size_t place)
    : Block(numbered("encode_controlnet_image", place), Stage::prepare_latents, Guidance::shared,
            has_component(numbered("controlnet", place)) && !control_reads_mask(place)),
      controlnet(this, numbered("controlnet", place)),
      control_image(this, numbered("control_image", place),
                    "the image that components." + numbered("controlnet", place) + " reads"),
      control(this, control_values_name(place), control_values_help, control_values_shape()),
      place_(place) {}

void EncodeControlImage::run(Frame& frame) const {
  io::Preprocess how = preprocess_of(frame.maybe(preprocess), preprocess, place_);
  Tensor pixels =
      control_pixels(frame[control_image], 3, frame[height], frame[width], frame[image_fit], how) *
          2.0 -
      1.0;
  if (frame[controlnet].pixels_per_token() == 0) {
    pixels = sampled_latents(frame, vae, tiling, pixels, static_cast<int64_t>(frame[seeds].size()),
                             *frame[noise_source]);
  }
  frame[control] = Value(pixels, Life::run);
}

}  // namespace omnirt::blocks
