#include "families/qwen_image21/references.hpp"

#include <ATen/ops/zeros.h>

#include "blocks/latents.hpp"
#include "families/qwen_image21/decode.hpp"
#include "tensor/image_tensor.hpp"

namespace omnirt::qwen_image21 {

void EncodeReferences::check(Checks& checks) const {
  tiling.check(checks, vae, DecodeWithAlpha::channels);
}

void EncodeReferences::run(Frame& frame) const {
  std::vector<Tensor> all;
  for (const io::Image& given : resized_images(frame[image], frame[further], frame[resolution])) {
    const Tensor pixels = image_to_tensor(given) * 2.0 - 1.0;
    // Noise of zeros: the distribution's mode, for which the reference draws nothing.
    const Tensor none = at::zeros(frame[vae].grid(given.width, given.height).images(), at::kFloat);
    all.push_back(blocks::encoded_image(frame, vae, tiling, pixels, none));
  }
  frame[latents] = blocks::tokens_of(all);
}

}  // namespace omnirt::qwen_image21
