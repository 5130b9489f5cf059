#include "blocks/masked_control.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "blocks/control_values.hpp"
#include "blocks/latents.hpp"
#include "blocks/start_noise.hpp"
#include "pipeline/numbered.hpp"

namespace omnirt::blocks {
namespace {

constexpr double repainted = -1.0;  // black

}  // namespace

Trigger any_control_reads_mask() {
  Trigger any = control_reads_mask(0);
  for (size_t i = 1; i < most_controls; ++i) any = any || control_reads_mask(i);
  return any;
}

EncodeMaskedControl::EncodeMaskedControl(size_t place, bool own_text)
    : Block(numbered("encode_masked_control", place), Stage::prepare_latents, Guidance::shared,
            has_component(numbered("controlnet", place)) && control_reads_mask(place)),
      controlnet(this, numbered("controlnet", place)),
      control(this, control_values_name(place), control_values_help, control_values_shape()),
      place_(place),
      own_text_(own_text) {}

void EncodeMaskedControl::check(Checks& checks) const {
  tiling.check(checks, vae);
  if (!checks[controlnet].feeds_back()) refuse_generators(checks, drawing_control);
}

Tensor EncodeMaskedControl::noise(Frame& frame) const {
  const auto shape = frame[vae].grid(frame[width], frame[height]).images();
  if (frame[controlnet].feeds_back()) return at::zeros(shape, at::kFloat);
  std::vector<Tensor> draws;
  for (uint64_t seed : frame[seeds]) draws.push_back(drawn_at(place_, seed, shape));
  return at::cat(draws);
}

void EncodeMaskedControl::run(Frame& frame) const {
  const Tensor pixels = image_tensor(frame[image], frame[width], frame[height]);
  const Tensor masked = at::where(frame[mask_pixels] > 0.5, repainted, pixels);
  const Tensor latents = encoded_image(frame, vae, tiling, masked, noise(frame));
  auto one_channel = nn::LatentGrid::of(latents);
  one_channel.channels = 1;
  const Tensor kept = (1 - frame[mask_latents]).expand(one_channel.images());
  Tensor values = at::cat({latents, kept}, 1);
  if (own_text_ && asks_without_prompt(frame)) values = at::cat({values, values});
  frame[control] = Value(values, Life::run);
}

}  // namespace omnirt::blocks
