#include "blocks/guidance_embedding.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/sin.h>

#include <algorithm>
#include <cmath>

namespace omnirt::blocks {

Tensor guidance_embedding(double scale, int64_t dim) {
  // In fp32 from the first product on, as the reference.
  int64_t half = dim / 2;
  float spacing = std::log(10000.0F) / static_cast<float>(std::max<int64_t>(half - 1, 1));
  Tensor waves = at::exp(at::arange(half, at::kFloat) * -spacing);
  Tensor angles = waves * (static_cast<float>(scale - 1) * 1000.0F);
  Tensor embedding = at::cat({at::sin(angles), at::cos(angles)}).unsqueeze(0);
  return dim % 2 == 1 ? at::constant_pad_nd(embedding, {0, 1}) : embedding;
}

}  // namespace omnirt::blocks
