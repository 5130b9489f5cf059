#pragma once
#include "blocks/hires.hpp"
#include "blocks/resolution_bins.hpp"
#include "networks/pixart_transformer_2d_model/model.hpp"

namespace omnirt::pixart {

// The second pass's size, in whole patches. The first pass must be made at the size that was asked
// for, from which the second's follows: bins that choose another are refused.
class HiresSize final : public blocks::HiresSize {
 public:
  Config<bool> binning{this, keys::use_resolution_binning};
  Described<PixArtTransformer2DModel> transformer{this, "transformer"};

  explicit HiresSize(Trigger trigger) : blocks::HiresSize(std::move(trigger)) {}
  void check(Checks& checks) const override;

 protected:
  int64_t grid(const Checks& checks) const override;
};

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
