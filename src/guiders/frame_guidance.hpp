#pragma once
#include "guiders/guider.hpp"

namespace omnirt {

namespace guider_keys {

inline constexpr Key<double> min_guidance_scale{
    "min_guidance_scale", 1.0, {0, 100}, "min-guidance-scale", "guidance at a video's first frame"};
inline constexpr Key<double> max_guidance_scale{
    "max_guidance_scale", 3.0, {0, 100}, "max-guidance-scale", "guidance at a video's last frame"};

}  // namespace guider_keys

struct FrameGuidanceConfig {
  double min_guidance_scale = 1.0;
  double max_guidance_scale = 3.0;
};

// Classifier-free guidance whose scale grows evenly from a video's first frame to its last, since
// later frames follow the first image less (Blattmann et al. 2023, arXiv 2311.15127, appendix D;
// diffusers StableVideoDiffusionPipeline). Predictions are {n, F, ...}; those of single images
// have the last frame's scale. Where no scale is above 1, one condition is asked for.
class FrameGuidance final : public Guider {
 public:
  explicit FrameGuidance(FrameGuidanceConfig config) : config_(config) {}
  std::string name() const override { return "frame_cfg"; }
  std::vector<Condition> conditions() const override;
  std::vector<std::string> active(const GuidanceStep& step) const override;
  Tensor combine(const Predictions& predictions, GuidanceStep& step) const override;

 private:
  bool guides() const {
    return config_.min_guidance_scale > 1.0 || config_.max_guidance_scale > 1.0;
  }
  FrameGuidanceConfig config_;
};

}  // namespace omnirt
