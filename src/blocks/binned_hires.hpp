#pragma once
#include "blocks/binned_size.hpp"
#include "blocks/hires.hpp"

namespace omnirt::blocks {

// The second pass's size where sizes have bins, in whole tokens. The first pass must be made at the
// size that was asked for, from which the second's follows: bins that choose another are refused.
class BinnedHiresSize final : public HiresSize {
 public:
  Config<bool> binning{this, keys::use_resolution_binning};
  Described<nn::DenoiserNetwork> transformer{this, "transformer"};

  BinnedHiresSize(BinnedSizes sizes, Trigger trigger)
      : HiresSize(std::move(trigger)), sizes_(sizes) {}
  void check(Checks& checks) const override;

 protected:
  int64_t grid(const Checks& checks) const override;

 private:
  BinnedSizes sizes_;
};

}  // namespace omnirt::blocks
