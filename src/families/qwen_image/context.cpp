#include "families/qwen_image/context.hpp"

#include <ATen/ops/zeros.h>

#include "base/path_text.hpp"
#include "blocks/control_values.hpp"
#include "blocks/latents.hpp"
#include "nn/patches.hpp"

namespace omnirt::qwen_image {

EncodeContextImage::EncodeContextImage()
    : Block("encode_context_image", Stage::prepare_latents, Guidance::shared,
            has("context_image")) {}

void EncodeContextImage::check(Checks& checks) const {
  tiling.check(checks, vae);
  const ImageInput* given = checks.image(context_image);
  if (!given || !checks.folder(controlnet)) return;
  checks.error({"inputs.context_image", path_text(given->path),
                "a ControlNet's residuals are for the tokens of the image alone",
                "remove it, or components.controlnet"});
}

void EncodeContextImage::run(Frame& frame) const {
  const Tensor pixels = blocks::control_pixels(frame[context_image], 3, frame[height], frame[width],
                                               frame[image_fit], {});
  // Noise of zeros: the distribution's mode.
  const Tensor none = at::zeros(frame[vae].grid(frame[width], frame[height]).images(), at::kFloat);
  const Tensor packed =
      nn::packed_patches(blocks::encoded_image(frame, vae, tiling, pixels * 2.0 - 1.0, none));
  frame[latents] = packed.flatten(2).transpose(1, 2).contiguous();
  const auto [rows, columns] = nn::LatentGrid::of(packed).sides();
  frame[ids] = blocks::ids_from_middle(/*number=*/1, rows, columns);
}

}  // namespace omnirt::qwen_image
