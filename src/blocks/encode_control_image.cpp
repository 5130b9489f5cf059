#include "blocks/encode_control_image.hpp"

#include <ATen/ops/zeros.h>

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

namespace {

Trigger control_that(size_t place, const char* does, bool (nn::ControlNetwork::*says)() const) {
  const std::string name = numbered("controlnet", place);
  return {[name, says](const Facts& facts) {
            const auto* network = facts.network<nn::ControlNetwork>(name);
            return network && (network->*says)();
          },
          name + does,
          {}};
}

}  // namespace

Trigger control_reads_mask(size_t place) {
  return control_that(place, " reads a mask", &nn::ControlNetwork::reads_mask);
}

Trigger control_feeds_back(size_t place) {
  return control_that(place, " looks at each block's tokens", &nn::ControlNetwork::feeds_back);
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
  if (frame[controlnet].feeds_back()) {
    // The mode, for all images: its reference draws nothing.
    pixels =
        encoded_image(frame, vae, tiling, pixels,
                      at::zeros(frame[vae].grid(frame[width], frame[height]).images(), at::kFloat));
  } else if (frame[controlnet].pixels_per_token() == 0) {
    pixels = sampled_latents(frame, vae, tiling, pixels, static_cast<int64_t>(frame[seeds].size()),
                             *frame[noise_source]);
  }
  frame[control] = Value(pixels, Life::run);
}

}  // namespace omnirt::blocks
