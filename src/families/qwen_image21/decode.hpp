#pragma once
#include "blocks/latents.hpp"

namespace omnirt::qwen_image21 {

// Latents -> images with an alpha channel.
class DecodeWithAlpha final : public blocks::DecodeLatents {
 public:
  using DecodeLatents::DecodeLatents;
  static constexpr int64_t channels = 4;
  void check(Checks& checks) const override { tiling.check(checks, vae, channels); }
};

}  // namespace omnirt::qwen_image21
