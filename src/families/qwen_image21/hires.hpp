#pragma once
#include "blocks/hires.hpp"

namespace omnirt::qwen_image21 {

// The second pass's size, in whole squares of latents. Images with alpha are not encoded again: the
// first pass's latents are enlarged.
class HiresSize final : public blocks::HiresSize {
 public:
  HiresSize(const Trigger& hires, int64_t square) : blocks::HiresSize(hires, square) {}
  void check(Checks& checks) const override;
};

}  // namespace omnirt::qwen_image21
