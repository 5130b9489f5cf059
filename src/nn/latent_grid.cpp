#include "nn/latent_grid.hpp"

#include "base/ensure.hpp"

namespace omnirt::nn {

LatentGrid LatentGrid::of(const Tensor& x) {
  ensure(x.dim() == 4 || x.dim() == 5, "a tensor of {} dimensions holds no images or videos",
         x.dim());
  const auto sizes = x.sizes();
  const size_t last = sizes.size() - 1;
  return {.batch = sizes[0],
          .frames = sizes.size() == 5 ? sizes[1] : 1,
          .channels = sizes[last - 2],
          .height = sizes[last - 1],
          .width = sizes[last]};
}

}  // namespace omnirt::nn
