#pragma once
#include "guiders/guider.hpp"

namespace omnirt {

namespace guider_keys {

inline constexpr Key<double> cfg_normalization{
    "cfg_normalization",
    0.0,
    {0, 100},
    "cfg-normalization",
    "a guided prediction is at most so many times as long as that for the prompt; 0: not limited"};
inline constexpr Key<double> cfg_truncation{
    "cfg_truncation",
    1.0,
    {0, 1},
    "cfg-truncation",
    "guidance ends where less than 1 minus this of the way from image to noise is left"};

}  // namespace guider_keys

struct OriginalGuidanceConfig {
  double guidance_scale = 5.0;
  double cfg_normalization = 0.0;
  double cfg_truncation = 1.0;
};

// Classifier-free guidance with the scale as its paper counts it (Ho & Salimans 2022, arXiv
// 2207.12598, equation 6): cond + scale * (cond - uncond), 0 for none; then cut to a length, image
// by image, and left out at the end of the run (diffusers ZImagePipeline).
class OriginalGuidance final : public Guider {
 public:
  explicit OriginalGuidance(OriginalGuidanceConfig config) : config_(config) {}
  std::string name() const override { return "cfg_original"; }
  std::vector<Condition> conditions() const override;
  std::vector<std::string> active(const GuidanceStep& step) const override;
  Tensor combine(const Predictions& predictions, GuidanceStep& step) const override;

 private:
  bool guides() const { return config_.guidance_scale > 0; }
  bool guides(const GuidanceStep& step) const;
  OriginalGuidanceConfig config_;
};

}  // namespace omnirt
