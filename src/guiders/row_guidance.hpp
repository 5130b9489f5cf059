#pragma once
#include "guiders/guider.hpp"

namespace omnirt {

namespace guider_keys {

inline constexpr Key<double> cfg_row_normalization{
    "cfg_normalization",
    0.0,
    {0, 100},
    "cfg-normalization",
    "rows of a guided prediction are so many times as long as those for the prompt; 0: as they "
    "come"};
inline constexpr Key<double> cfg_trunc_ratio{
    "cfg_trunc_ratio", 1.0, {0, 1}, "cfg-trunc-ratio", "the part of the run that is guided"};

}  // namespace guider_keys

struct RowGuidanceConfig {
  double guidance_scale = 4.0;
  double cfg_normalization = 0.0;
  double cfg_trunc_ratio = 1.0;
};

// Classifier-free guidance, uncond + scale * (cond - uncond), each row of whose result is as long
// as cond's, and that is left out at the end of the run (diffusers Lumina2Pipeline).
class RowGuidance final : public Guider {
 public:
  explicit RowGuidance(RowGuidanceConfig config) : config_(config) {}
  std::string name() const override { return "cfg_rows"; }
  std::vector<Condition> conditions() const override;
  std::vector<std::string> active(const GuidanceStep& step) const override;
  Tensor combine(const Predictions& predictions, GuidanceStep& step) const override;

 private:
  bool guides() const { return config_.guidance_scale > 1.0; }
  bool guides(const GuidanceStep& step) const;
  RowGuidanceConfig config_;
};

}  // namespace omnirt
