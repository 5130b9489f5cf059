#include "families/qwen_image_edit/references.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "blocks/latents.hpp"
#include "families/qwen_image_edit/sizes.hpp"
#include "nn/patches.hpp"

namespace omnirt::qwen_image_edit {
void EncodeEditImages::run(Frame& frame) const {
  std::vector<io::Image> images{frame[image]};
  if (const auto* more = frame[further]) images.insert(images.end(), more->begin(), more->end());
  const nn::Autoencoder& autoencoder = frame[vae];
  const int64_t token = autoencoder.factors().side * nn::patch_side;
  int64_t most = std::max(frame[width], frame[height]) / token / 2;
  std::vector<Tensor> tokens, places;
  for (const io::Image& given : images) {
    const Size size = size_of_area(latents_area, given.height, given.width);
    const Tensor pixels = blocks::image_tensor(given, size.width, size.height);
    // Noise of zeros: the distribution's mode, for which the reference draws nothing.
    const Tensor none = at::zeros(autoencoder.grid(size.width, size.height).images(), at::kFloat);
    const Tensor packed =
        nn::packed_patches(blocks::encoded_image(frame, vae, tiling, pixels, none));
    const auto [rows, columns] = nn::LatentGrid::of(packed).sides();
    tokens.push_back(packed.flatten(2).transpose(1, 2));
    places.push_back(
        blocks::ids_from_middle(static_cast<int64_t>(places.size()) + 1, rows, columns));
    most = std::max({most, rows / 2, columns / 2});
  }
  frame[latents] = at::cat(tokens, 1).contiguous();
  frame[ids] = at::cat(places, 1);
  frame[start] = at::full({1, 1}, most, at::kFloat);
}

}  // namespace omnirt::qwen_image_edit
