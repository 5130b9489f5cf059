#pragma once
#include "nn/network.hpp"

namespace omnirt::nn {

// A network that makes an image larger by a whole factor.
class Upscaler : public Network {
 public:
  static constexpr int64_t channels = 3;  // red, green and blue
  // image {B, 3, H, W} in 0..1 -> {B, 3, scale H, scale W}, values about 0..1, not clamped. H and W
  // are multiples of multiple_of().
  virtual Tensor upscale(Context& cx, const Tensor& image) const = 0;
  virtual int64_t scale() const = 0;
  virtual int64_t multiple_of() const { return 1; }

 protected:
  using Network::Network;
};

}  // namespace omnirt::nn
