#pragma once
#include "blocks/hires.hpp"

namespace omnirt::pixart {

// As SizeConditions, of the second pass's size.
class HiresSizeConditions final : public Block {
 public:
  Config<int64_t> hires_width{this, keys::hires_width};
  Config<int64_t> hires_height{this, keys::hires_height};
  Output<Tensor> resolution{
      this, "hires_resolution", "height and width of the second pass in pixels", {"1", "2"}};
  Output<Tensor> aspect_ratio{
      this, "hires_aspect_ratio", "height / width of the second pass", {"1", "1"}};

  explicit HiresSizeConditions(const Trigger& hires);
  void run(Frame& frame) const override;
};

}  // namespace omnirt::pixart
