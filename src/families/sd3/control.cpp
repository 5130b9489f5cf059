#include "families/sd3/control.hpp"

#include <ATen/ops/cat.h>

#include "blocks/control_values.hpp"
#include "blocks/latents.hpp"
#include "blocks/start_noise.hpp"
#include "pipeline/numbered.hpp"

namespace omnirt::sd3 {

EncodeControl::EncodeControl(size_t place)
    : Block(numbered("encode_controlnet_image", place), Stage::prepare_latents, Guidance::shared,
            has_component(numbered("controlnet", place)) && !blocks::control_reads_mask(place)),
      controlnet(this, numbered("controlnet", place)),
      control_image(this, numbered("control_image", place),
                    "the image that components." + numbered("controlnet", place) + " reads"),
      control(this, blocks::control_values_name(place), blocks::control_values_help,
              blocks::control_values_shape()),
      place_(place) {}

void EncodeControl::check(Checks& checks) const {
  tiling.check(checks, vae);
  blocks::refuse_generators(checks, blocks::drawing_control);
}

Tensor EncodeControl::drawn(Frame& frame) const {
  const bool guided = blocks::asks_without_prompt(frame);
  auto shape = frame[vae].grid(frame[width], frame[height], guided ? 2 : 1).images();
  std::vector<Tensor> with, without;
  for (uint64_t seed : frame[seeds]) {
    const Tensor both = blocks::drawn_at(place_, seed, shape);
    with.push_back(both.narrow(0, shape[0] - 1, 1));
    if (guided) without.push_back(both.narrow(0, 0, 1));
  }
  with.insert(with.end(), without.begin(), without.end());
  return at::cat(with);
}

void EncodeControl::run(Frame& frame) const {
  const io::Preprocess how = blocks::preprocess_of(frame.maybe(preprocess), preprocess, place_);
  const Tensor pixels = blocks::control_pixels(frame[control_image], 3, frame[height], frame[width],
                                               frame[image_fit], how) *
                            2.0 -
                        1.0;
  const nn::Autoencoder& autoencoder = frame[vae];
  const Tensor noise = autoencoder.samples() ? drawn(frame) : Tensor();
  Tensor latents = blocks::encoded_image(frame, vae, tiling, pixels, noise);
  if (!frame[controlnet].shifts_latents())
    latents = latents + autoencoder.shift_factor() * autoencoder.scaling_factor();
  frame[control] = Value(latents, Life::run);
}

}  // namespace omnirt::sd3
