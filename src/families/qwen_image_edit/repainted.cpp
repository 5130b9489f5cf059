#include "families/qwen_image_edit/repainted.hpp"

#include <ATen/ops/full.h>

#include <algorithm>

#include "io/image_mask.hpp"
#include "nn/patches.hpp"

namespace omnirt::qwen_image_edit {

io::Image LookAtRepainted::seen(Frame& frame, const io::Image& given) const {
  return io::fit_image(given, frame[width], frame[height], frame[image_fit]);
}

void FitRepainted::run(Frame& frame) const {
  auto fitted = [&](const io::Image& given) {
    return io::fit_image(given, frame[width], frame[height], frame[image_fit]);
  };
  frame[image] = fitted(io::to_rgb(frame[image]));
  frame[mask] = fitted(io::painted_mask(frame[mask]));
}

void GoByRepainted::run(Frame& frame) const {
  const Tensor packed = nn::packed_patches(frame[image_latents]);
  const auto [rows, columns] = nn::LatentGrid::of(packed).sides();
  frame[tokens] = packed.flatten(2).transpose(1, 2).contiguous();
  frame[ids] = blocks::ids_from_middle(1, rows, columns);
  frame[start] = at::full({1, 1}, std::max(rows / 2, columns / 2), at::kFloat);
}

}  // namespace omnirt::qwen_image_edit
